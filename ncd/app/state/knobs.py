"""The values of knobs, seed, device and number formats in the session."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from ncd.app.state.session import session
from ncd.circuit.knob import Knob
from ncd.errors import NCDError
from ncd.language.number_formats import BITS, KINDS, PLAIN_FORMATS, Formats, read_formats
from ncd.run.device import devices
from ncd.systems.catalogue_entry import Entry, Preset

# --- The values of the knobs, stored in the session by name

SEED = Knob("seed", 0, 2**31 - 1, 0, most=2**31 - 1)
MAX_SLIDER_VALUE = 10**9  # larger numbers would be rounded by the slider in the browser
NOTES, RANGES, TYPED = "notes", "ranges", "typed"
UNSEEN = "unseen"  # the values that were set last, and until when a browser may not show them
BROWSER_LAG = 1.0  # seconds until a busy browser shows what it was sent
# Names of sizes in PyTorch and in published configurations, with the knob and its meaning.
SIZE_ALIASES = {
    **dict.fromkeys(("d_model", "embed_dim", "hidden_size", "n_embd"), ("m", "features")),
    **dict.fromkeys(("heads", "n_heads", "num_heads", "nhead", "n_head"), ("h", "heads")),
    **dict.fromkeys(("d_k", "d_head", "head_dim"), ("k", "features")),
    **dict.fromkeys(("d_ff", "dim_feedforward", "intermediate_size"), ("d", "hidden features")),
    **dict.fromkeys(("layers", "n_layers", "num_layers", "n_layer"), ("n", "layers")),
    "seq_len": ("t", "positions"),
    "vocab_size": ("v", "symbols"),
    "channels": ("c", "channels"),
    "kernel_size": ("w", "kernel"),
    "stride": ("s", "stride"),
}
PLAIN, SMALL = "0123456789", "₀₁₂₃₄₅₆₇₈₉"
WORD = r"[^\W\d]\w*"
VALUE_SPACE = (
    rf"\s+(?!{WORD}(?:\s*[=:]|\s+-?\d))"  # a space that is no end of a word that stands alone
)
SIZE_PATTERN = re.compile(
    rf"({WORD})(?:\s*[=:]\s*|{VALUE_SPACE})(-?\d{{1,3}}(?:,\d{{3}})+(?!\d)|[^\s,;=:]+)"
)


def current(entry: Entry) -> dict[str, int]:
    """Returns every knob's value from the session, before any widget is made.

    A missing value becomes the default, an illegal one the nearest legal one.
    """
    found = entry.with_clamped_indexes(asked := {knob.name: _value(knob) for knob in entry.knobs})
    set_values({name: n for name, n in found.items() if n != asked[name]})
    return found


def seed() -> int:
    """Returns the seed of weights and random arrays."""
    return _value(SEED)


def device() -> str:
    """Returns the chosen device, or the first of this machine's devices."""
    known = devices()
    chosen = session().get("device", known[0])
    if chosen not in known:
        set_notice(
            "device", f"There is no device “{str(chosen)[:20]}” here. It runs on {known[0]}."
        )
        chosen = known[0]
    if session().get("device") != chosen:
        session()["device"] = chosen
    return str(chosen)


def _value(knob: Knob) -> int:
    held = session().get(knob.name, knob.default)
    if isinstance(held, str):
        value, said = nearest_legal(knob, held)
        set_notice(knob.name, said)
    else:
        value = min(knob.legal(int(held)), MAX_SLIDER_VALUE if knob is not SEED else SEED.max)
    right = bool(value) if knob.switch else value
    if knob.name not in session() or held != right:
        session()[knob.name] = right
    return value


def parse_all(entry: Entry) -> None:
    """Parses the knob values of a link, and adds a note for every value that had to be changed."""
    session()[NOTES], session()[RANGES] = {}, {}
    current(entry)
    seed()
    device()


def nearest_legal(knob: Knob, asked: str) -> tuple[int, str]:
    """Returns the legal value nearest to a text, and a note if it differs.

    >>> h, n1 = Knob("h", 1, 16, 4), Knob("n1", 4, 256, 64, multiple=4)
    >>> nearest_legal(h, "96"), nearest_legal(h, "0")
    ((96, ''), (1, 'h cannot be 0: it is 1 or more. The nearest is 1.'))
    >>> nearest_legal(h, "4.5"), nearest_legal(h, "abc")
    ((4, 'h is a whole number: 4.5 became 4.'), (4, '“abc” is no whole number. h is 4.'))
    >>> nearest_legal(n1, "71")[0]
    72
    """
    if knob.switch:
        return _read_switch(knob, asked)
    number, name = _number(asked), subscript_name(knob.name)
    if number is None:
        return knob.default, f"“{asked[:20]}” is no whole number. {name} is {knob.default}."
    if abs(number) > max(MAX_SLIDER_VALUE, SEED.max):
        return knob.default, f"{asked[:20]} is more than fits in here. {name} is {knob.default}."
    value = min(knob.legal(round(number)), SEED.max if knob is SEED else MAX_SLIDER_VALUE)
    if value == number:
        return value, ""
    if value == round(number):
        return value, f"{name} is a whole number: {asked[:20]} became {value:,}."
    verb = "goes" if knob.limits.startswith("from") else "is"
    said = f"{name} cannot be {asked[:20]}: it {verb} {knob.limits}."
    return value, f"{said} The nearest is {value:,}."


def _number(asked: str) -> float | None:
    """Returns the number in a text, or None if there is none (``inf`` counts as none)."""
    plain = asked.replace(",", "")
    try:
        number = float(plain)
    except ValueError:
        return None
    return number if math.isfinite(number) or plain.strip("-").isdecimal() else None


def _read_switch(knob: Knob, asked: str) -> tuple[int, str]:
    words = {"true": 1, "1": 1, "false": 0, "0": 0}
    if asked.lower() in words:
        return words[asked.lower()], ""
    return knob.default, f"{knob.name} is true or false, and “{asked[:20]}” is neither."


# --- typed, published, and back -------------------------------------------------------------------


def apply_typed_sizes(entry: Entry) -> None:
    """Sets the sizes in a text such as ``h=96 m=12288``; the callback of the text field.

    Usual names such as ``d_model`` stand for the knobs in ``SIZE_ALIASES``.
    """
    text = str(session().get(TYPED, ""))[:200]
    known = {knob.name: knob for knob in entry.knobs}
    session().get(NOTES, {}).pop(TYPED, None)
    said, wrong = parse_sizes(text)
    for word, asked in said.items():
        name, meant = (word, "") if word in known else SIZE_ALIASES.get(word.lower(), (word, ""))
        if name in known and known[name].help.startswith(meant):
            value, why = nearest_legal(known[name], asked)
            set_values({name: value})
            set_notice(name, why)
        else:
            wrong.append(word)
    if wrong:
        names = ", ".join(map(subscript_name, known))
        what = ", ".join(f"“{word[:20]}”" for word in wrong[:3])
        first = entry.knobs[0].name
        set_notice(
            TYPED, f"There is no size {what} here. Type {first}=8, for example; there are {names}."
        )
    else:
        session()[TYPED] = ""


def parse_sizes(text: str) -> tuple[dict[str, str], list[str]]:
    """Parses sizes from a text; returns them by name, and the words that cannot be read.

    >>> parse_sizes("h=96, m = 12,288 n₀: 7 x")
    ({'h': '96', 'm': '12,288', 'n0': '7'}, ['x'])
    """
    plain = text.translate(str.maketrans(SMALL, PLAIN))
    rest = re.split(r"[\s,;]+", SIZE_PATTERN.sub(" ", plain).strip())
    return dict(SIZE_PATTERN.findall(plain)), [word for word in rest if word]


def set_values(values: Mapping[str, int]) -> None:
    """Sets knobs; for use in callbacks."""
    unseen = _unseen()
    for name, value in values.items():
        held = session().get(name)
        new = bool(value) if isinstance(held, bool) else value
        if new != held:
            unseen[name] = unseen.get(name, (held,))[0], new
            session()[UNSEEN] = unseen, math.inf
        session()[name] = new
        clear_notice(name)


def keeps_newer_value(name: str) -> bool:
    """Returns whether a browser reports what it showed before a value that it has just been sent.

    The new value then stays. A browser sends all its sliders with each message, also with one that
    overtakes the answer to the message before.
    """
    unseen = _unseen()
    before, new = unseen.get(name, (None, None))
    if new is None or session()[name] != before:
        unseen.pop(name, None)  # it has been moved on from there
        return False
    session()[name] = new
    return True


def mark_sent() -> None:
    """Records that the browser has been sent every value."""
    session()[UNSEEN] = _unseen(), time.monotonic() + BROWSER_LAG


def _unseen() -> dict[str, tuple[Any, Any]]:
    """Returns the values that the browser may not show yet: what it shows, and what was set."""
    values, until = session().get(UNSEEN, ({}, 0.0))
    return values if time.monotonic() < until else {}


def apply_dragged_sizes(entry: Entry, said: object) -> None:
    """Sets the sizes that were dragged in the diagram; a callback."""
    known = {knob.name: knob for knob in entry.knobs if knob.is_size}
    for name, asked in said.items() if isinstance(said, Mapping) else ():
        if name in known and isinstance(asked, int | float):
            value, why = nearest_legal(known[name], str(asked)[:20])
            set_values({name: value})
            set_notice(name, why)


def apply_pick(entry: Entry, said: str) -> None:
    """Sets the knob that was picked in a panel, ``name=value``; a callback."""
    name, _, value = said.partition("=")
    knob = next((knob for knob in entry.knobs if knob.name == name), None)
    if knob is not None and value.isascii() and value.isdecimal() and len(value) < 6:
        set_values({name: knob.legal(int(value))})


def reset(entry: Entry, given: Mapping[str, str]) -> None:
    """Resets the whole sidebar, inputs included; a callback."""
    session()[NOTES], session()[RANGES] = {}, {}
    set_values({knob.name: knob.default for knob in (*entry.knobs, SEED)})
    for name, value in {"device": devices()[0], **given, "preset": None, "formats": ""}.items():
        session()[name] = value


def apply_preset(entry: Entry, name: str | None) -> None:
    """Sets the knobs of a preset, and all others to their defaults; a callback."""
    published = entry.preset(name).knobs if name else {}
    set_values({knob.name: published.get(knob.name, knob.default) for knob in entry.knobs})


def matching_preset(entry: Entry, values: Mapping[str, int]) -> Preset | None:
    """Returns the preset with the current sizes; of several, the one that fixes the most knobs.

    >>> import ncd
    >>> entry = ncd.catalogue["multi-head-attention"]
    >>> matching_preset(entry, entry.settings({"h": 8, "k": 64, "m": 512, "y": 7})).title
    'Transformer, base'
    """
    found = [preset for preset in entry.presets if preset.knobs.items() <= values.items()]
    return max(found, key=lambda preset: len(preset.knobs), default=None)


def slider_range(knob: Knob, value: int) -> tuple[int, int]:
    """Returns the range of a slider, extended to include a value outside it that was requested."""
    ranges: dict[str, tuple[int, int]] = session().setdefault(RANGES, {})
    low, high = ranges.get(knob.name, (knob.min, knob.max))
    if not low <= value <= high:
        double = 1 << (value - 1).bit_length()
        low, high = (
            min(low, value),
            max(high, min(double, MAX_SLIDER_VALUE, knob.bounds[1] or MAX_SLIDER_VALUE)),
        )
        ranges[knob.name] = low, high
    return low, high


# --- notes and names ------------------------------------------------------------------------------


def set_notice(name: str, text: str) -> None:
    """Shows a note beside a knob until the knob moves."""
    if text:
        session().setdefault(NOTES, {})[name] = text


def clear_notice(name: str) -> None:
    """Removes the note beside a knob; a callback."""
    session().get(NOTES, {}).pop(name, None)


def notice_markdown(name: str) -> str:
    """Returns the note beside a knob as escaped Markdown."""
    text = session().get(NOTES, {}).get(name, "")
    return "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-.!|$:~&" else c for c in text)


def notices_and_ranges(names: Iterable[str]) -> dict[str, object]:
    """Returns the notes for these names and the extended slider ranges."""
    notes = session().get(NOTES, {})
    said = {name: notes[name] for name in names if name in notes} if notes else {}
    return {NOTES: said, RANGES: dict(session().get(RANGES, {}))}


def subscript_name(name: str) -> str:
    """Returns a knob's name with subscript digits.

    >>> subscript_name("n0"), subscript_name("c_2")
    ('n₀', 'c₂')
    """
    return re.sub(r"_(?=\d+$)", "", name).translate(str.maketrans(PLAIN, SMALL))


# --- The number formats of a page, in its link as ``formats=weights=int8,cache=float8``

FORMATS = "formats"
MAX_FORMATS_LETTERS = 60  # letters in a link
HELP = (
    "Numbers are rounded to the format and calculated with in float32; inputs have the format of "
    "activations. Bytes are those of the format; the Cost panel says how far the outputs are from "
    "those of float32."
)


def formats(entry: Entry) -> Formats:
    """Returns the session's formats, for a system; what cannot be read becomes float32."""
    said = str(session().get(FORMATS, ""))
    found, note = read_session_formats(entry, said)
    set_notice(FORMATS, note)
    if found.spec != said:
        session()[FORMATS] = found.spec
    return found


def read_session_formats(entry: Entry, said: str) -> tuple[Formats, str]:
    """Returns the formats of a text, and a note if it cannot be read.

    >>> import ncd
    >>> entry = ncd.catalogue["multi-head-attention"]
    >>> read_session_formats(entry, "cache=int8")[0].cached
    ('K', 'V')
    >>> read_session_formats(entry, "weights=int3")[1]
    "weights: there is no format 'int3'. Try int8."
    """
    try:
        return read_formats(said[:MAX_FORMATS_LETTERS], entry.cached), ""
    except NCDError as error:
        return Formats(cached=entry.cached), str(error)


def render_formats(entry: Entry) -> None:
    """Shows a choice for each kind of numbers."""
    now = formats(entry)
    title = f"Number formats: {now.spec.replace(',', ', ').replace('=', ' ') or PLAIN_FORMATS}"
    with st.expander(title, expanded=False):
        for kind in KINDS if entry.cached else KINDS[:2]:
            key = _key(kind)
            if session().get(key) != getattr(now, kind):
                session()[key] = getattr(now, kind)
            st.selectbox(kind.capitalize(), list(BITS), key=key, help=HELP, on_change=_choose)
    if text := notice_markdown(FORMATS):
        st.caption(f":orange-background[{text}]")


def widget_values(entry: Entry) -> dict[str, str]:
    """Returns what the choices have to show, by their keys."""
    now = formats(entry)
    return {_key(kind): getattr(now, kind) for kind in KINDS}


def _key(kind: str) -> str:
    return f"format of {kind}"


def _choose() -> None:
    """Takes over the choices; a callback."""
    weights, arrays, cache = (str(session().get(_key(kind), PLAIN_FORMATS)) for kind in KINDS)
    clear_notice(FORMATS)
    session()[FORMATS] = Formats(weights, arrays, cache).spec
