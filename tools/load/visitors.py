"""Visitors as the server sees them: they speak Streamlit's own protocol over a websocket."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider

PATIENCE = 60  # seconds for one run
AGAIN = 1.0  # seconds until a browser looks for a server that it has lost
EARLY = ForwardMsg.FINISHED_EARLY_FOR_RERUN
STEPS = "300"  # that somebody trains for
PLAIN = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
REACH = 60  # steps of a slider, from its least value, among which a move chooses
EVENTS = (
    "$$STREAMLIT_INTERNAL_KEY_{}__events"  # the widget through which a component says something
)
PACE = 0.05  # seconds between two sizes of a drag
RESTS = 0.3  # seconds after the last of them until the browser tells the session


@dataclass
class Found:
    """What all visitors have seen since the last line: milliseconds of moves, and failures."""

    diagram: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    rest: list[float] = field(default_factory=list)  # of the run that follows a drag
    failed: list[str] = field(default_factory=list)
    back: list[float] = field(default_factory=list)  # seconds until the page was there again


@dataclass
class Visitor:
    """One session: a page, the sliders on it by their names, and the values that it has set."""

    address: str
    page: str
    whole: bool
    random: random.Random
    found: Found
    sliders: dict[str, tuple[Slider, str]] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    left: float = 0.0  # when its server was lost
    cookies: dict[str, str] = field(default_factory=dict)  # of a proxy
    kept: set[str] = field(default_factory=set)  # hashes of messages that are not sent again
    received: int = 0  # bytes
    drag: int = (
        0  # sizes that a size is dragged over each time, as in the diagram; 0: a slider moves
    )
    session: str = ""
    asked: str = ""  # the query of the drawing that is shown
    diagram: tuple[str, str] = ("", "")  # what sends the sizes of the diagram, and its fragment

    async def visit(self, start: float, every: float, end: float) -> None:
        """Opens the page after ``start`` seconds, and moves a slider until the time is ``end``."""
        await asyncio.sleep(start)
        while time.monotonic() < end:
            try:
                await self.stay(every, end)
            except (OSError, websockets.WebSocketException):  # its server has gone
                self.left = self.left or time.monotonic()
                await asyncio.sleep(AGAIN)
            except Exception as error:  # whatever it is, it is a visitor that was not served
                self.found.failed.append(repr(error))
                return

    async def stay(self, every: float, end: float) -> None:
        """Moves a slider now and then, on one connection."""
        async with self.connected() as socket:
            self.sliders, self.kept = {}, set()
            await self.run(socket, self.asking())
            self.check()
            while time.monotonic() < end:
                await asyncio.sleep(every * self.random.uniform(0.5, 1.5))
                if self.drag:
                    name = await self.drag_size()
                    await asyncio.sleep(RESTS - PACE)
                    self.found.rest.append((await self.run(socket, self.rested(name)))[1])
                else:
                    diagram, last = await self.run(socket, self.moved())
                    self.found.diagram.append(diagram)
                    self.found.end.append(last)

    async def drag_size(self) -> str:
        """Drags a size of the diagram over some values; returns its name."""
        sizes = dict(parse_qsl(self.asked))
        name = self.random.choice([name for name in self.sliders if name in sizes])
        slider, _ = self.sliders[name]
        steps = min(REACH, int((slider.max - slider.min) / slider.step))
        begin, way = self.random.randint(0, steps), self.random.choice((-1, 1))
        site = urlsplit(self.address)
        reader, writer = await asyncio.open_connection(site.hostname, site.port)
        for n in range(self.drag):
            self.values[name] = slider.min + slider.step * ((begin + way * n) % (steps + 1))
            diagram, last = await self.answer(reader, writer, {name: f"{self.values[name]:.0f}"})
            self.found.diagram.append(diagram)
            self.found.end.append(last)
            await asyncio.sleep(PACE)
        writer.close()
        return name

    async def answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sizes: dict[str, str]
    ) -> tuple[float, float]:
        """Asks for a move; milliseconds until the line of the drawing and until the last one."""
        start = time.perf_counter()
        query = urlencode({**dict(parse_qsl(self.asked)), **sizes})
        site = urlsplit(self.address)
        lines = [
            f"GET /_ncd{self.page and f'/{self.page}'}?{query} HTTP/1.1",
            f"Host: {site.netloc}",
        ]
        lines += [f"X-NCD-Session: {self.session}"]
        lines += [f"{name}: {value}" for name, value in self.cookies.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(PATIENCE):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if b" 200 " not in head[:15] or b"chunked" not in head:
                raise RuntimeError(f"no move: {head[:80]!r}")
            drawing = await chunk(reader)
            diagram = (time.perf_counter() - start) * 1e3
            sent = [drawing]
            while sent[-1]:
                sent.append(await chunk(reader))
        self.received += sum(map(len, sent))
        if b"<svg" not in drawing and b"<b>" not in drawing:
            raise RuntimeError(f"no drawing: {drawing[:80]!r}")
        return diagram, (time.perf_counter() - start) * 1e3

    def rested(self, name: str) -> BackMsg:
        """A run that the diagram asks for, to tell the session a size that rests."""
        component, fragment = self.diagram
        asked = self.asking()
        widget = asked.rerun_script.widget_states.widgets.add()
        widget.id = EVENTS.format(component)
        value = {name: int(self.values[name])}
        widget.json_trigger_value = json.dumps([{"event": "sizes", "value": value}])
        asked.rerun_script.fragment_id = fragment
        return asked

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[websockets.ClientConnection]:
        """A connection, with the cookies that came with the one before."""
        async with websockets.connect(
            self.address,
            subprotocols=[websockets.Subprotocol("streamlit")],
            additional_headers=self.cookies,
            max_size=None,
        ) as socket:
            if socket.response and (said := socket.response.headers.get("Set-Cookie")):
                self.cookies = {"Cookie": said.partition(";")[0]}
            yield socket

    def check(self) -> None:
        """Whether the page has the values that were set; one that has not is a failure."""
        shown = {name: held(slider) for name, (slider, _) in self.sliders.items()}
        if not self.values.items() <= shown.items():
            raise RuntimeError(f"{self.values} became {shown}")
        if self.left:
            self.found.back.append(time.monotonic() - self.left)
            self.left = 0.0

    async def run(self, socket: websockets.ClientConnection, asked: BackMsg) -> tuple[float, float]:
        """Asks for a run; milliseconds until the diagram's message and until the last one."""
        start, diagram = time.perf_counter(), 0.0
        asked.rerun_script.cached_message_hashes.extend(self.kept)
        self.kept = set()
        await socket.send(asked.SerializeToString())
        async with asyncio.timeout(PATIENCE):
            async for raw in socket:
                assert isinstance(raw, bytes)
                self.received += len(raw)
                message = ForwardMsg.FromString(raw)
                passed = (time.perf_counter() - start) * 1e3
                kind = message.WhichOneof("type")
                self.read(message)
                if not diagram and b"<svg" in raw:
                    diagram = passed
                if kind == "script_finished" and message.script_finished != EARLY:
                    return diagram, passed
        raise ConnectionError("the server has closed")

    def read(self, message: ForwardMsg) -> None:
        """Keeps a slider, and what a browser keeps; what went wrong on the page is a failure."""
        if message.ref_hash or message.metadata.cacheable:
            self.kept.add(message.ref_hash or message.hash)
        element = message.delta.new_element  # empty, of another message
        kind = element.WhichOneof("type")
        if message.WhichOneof("type") == "new_session":
            self.session = message.new_session.initialize.session_id or self.session
        if kind == "bidi_component":
            component = element.bidi_component
            if component.component_name == "ncd_diagram":
                self.diagram = component.id, message.delta.fragment_id
            elif component.component_name == "ncd_told" and '"ask"' in component.json:
                self.asked = json.loads(component.json)["ask"]
        if kind == "exception":
            raise RuntimeError(element.exception.message)
        if kind == "slider" and not element.slider.options:  # of numbers, not of words
            name = element.slider.label.partition(" ")[0].translate(PLAIN)
            self.sliders[name] = (element.slider, message.delta.fragment_id)

    def asking(self) -> BackMsg:
        """A run with every slider at its value; the first of a connection has them in its link."""
        asked = BackMsg()
        asked.rerun_script.page_name = self.page
        asked.rerun_script.query_string = urlencode({n: int(x) for n, x in self.values.items()})
        for name, (slider, _) in self.sliders.items():
            widget = asked.rerun_script.widget_states.widgets.add()
            widget.id = slider.id
            widget.double_array_value.data.append(self.values.get(name, held(slider)))
        return asked

    def moved(self) -> BackMsg:
        """A run with one slider at another value."""
        name, (slider, fragment) = self.random.choice(list(self.sliders.items()))
        steps = min(REACH, int((slider.max - slider.min) / slider.step))
        self.values[name] = slider.min + slider.step * self.random.randint(0, steps)
        asked = self.asking()
        if not self.whole:
            asked.rerun_script.fragment_id = fragment
        return asked


async def chunk(reader: asyncio.StreamReader) -> bytes:
    """Returns the next chunk of an answer, empty at its end."""
    size = int(await reader.readuntil(b"\r\n"), 16)
    return (await reader.readexactly(size + 2))[:-2]


def held(slider: Slider) -> float:
    """The value at which a slider is shown."""
    return float((slider.value if slider.set_value else slider.default)[0])


@dataclass(kw_only=True)
class Trainee(Visitor):
    """One who trains a system from a seed of their own, and waits on its page for what comes."""

    seed: int
    button: str = ""
    steps: str = ""  # what chooses how many
    again: tuple[str, float] = ("", 0.0)  # a fragment that asks for itself, and how often

    async def stay(self, every: float, end: float) -> None:
        """Opens the page, presses Train, and waits."""
        async with self.connected() as socket:
            await self.run(socket, self.asking())
            pressed = self.asking()
            widget = pressed.rerun_script.widget_states.widgets.add()
            widget.id, widget.trigger_value = self.button, True
            await self.run(socket, pressed)
            while time.monotonic() < end:
                await asyncio.sleep(self.again[1] or every)
                if self.again[0]:
                    looking = self.asking()
                    looking.rerun_script.fragment_id = self.again[0]
                    await self.run(socket, looking)

    def read(self, message: ForwardMsg) -> None:
        """Keeps the button, and what a browser is to ask for again and again."""
        super().read(message)
        element = message.delta.new_element
        if element.button.label == "Train":
            self.button = element.button.id
        if element.button_group.label == "Steps":
            self.steps = element.button_group.id
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self.again = "", 0.0  # what waits says so anew
        if kind == "auto_rerun":
            self.again = message.auto_rerun.fragment_id, message.auto_rerun.interval

    def asking(self) -> BackMsg:
        """A run of the page from its link."""
        asked = BackMsg()
        asked.rerun_script.page_name = self.page
        asked.rerun_script.query_string = urlencode({"seed": self.seed, "panel": "Training"})
        if self.steps:
            chosen = asked.rerun_script.widget_states.widgets.add()
            chosen.id = self.steps
            chosen.string_array_value.data.append(STEPS)
        return asked
