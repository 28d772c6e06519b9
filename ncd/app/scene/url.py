"""The link of a page: reads the address into the session's state once, then writes it.

The address is read when a page opens: by a link, a reload, or Back. Afterwards it is rewritten from
the state: every stored key that is not at its default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode

import streamlit as st

from ncd.app.parts import image_picker, input_feed
from ncd.app.runtime import streamlit_internals
from ncd.app.scene import pin
from ncd.app.scene.edited_system import EDITS_KEY, entry_of, read_edits, system_after
from ncd.app.scene.own_entry import CUSTOM_PAGE, DEFAULT_TEXT, TEXT_KEY
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import ON_WIRES, build_term
from ncd.app.scene.session_weights import TRAINED_KEY, stop_training
from ncd.app.state import knobs, link_text, selection
from ncd.app.state.controls import Control
from ncd.app.state.knobs import FORMATS, MAX_FORMATS_LETTERS
from ncd.app.state.link_text import LinkParameter, Value
from ncd.errors import NCDError
from ncd.language.terms import Term
from ncd.run.device import devices
from ncd.site.scripts import script
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.text_inputs import SAMPLE_SENTENCE

STATE, LINK_MARK = "link", "go"
SYSTEM_KEY = "of"  # in a link to the page Yours: the system that is to be changed there
MESSAGE_COUNT = "messages sent"  # a session key: how many messages with a number there were
PRESENTER_PARAMETERS = ("present", "views", "with")  # read by the browser alone, in presenter.js
MAX_LETTERS = 10_000  # the greatest number of letters in a sentence

SYSTEM_PARAMETERS: dict[str, LinkParameter] = {
    "device": LinkParameter(devices()[0], devices(), meaning="device"),
    "labels": LinkParameter(ON_WIRES[0], ON_WIRES, meaning="labels"),
    "select": LinkParameter(""),
    "axes": LinkParameter(""),
    "folded": LinkParameter("auto"),
    "callouts": LinkParameter("on", ("on", "off"), meaning="callouts"),
    "quiz": LinkParameter("", ("", "1")),
    "ask": LinkParameter(""),
    TRAINED_KEY: LinkParameter("", ("", "1")),
    FORMATS: LinkParameter("", max_length=MAX_FORMATS_LETTERS, meaning="formats"),
    pin.PIN: LinkParameter("", max_length=pin.LONGEST, meaning="pin"),
    pin.VIEW: LinkParameter(pin.VIEWS[0], pin.VIEWS),
}
WITH_TEXT: dict[str, LinkParameter | Control] = {
    TEXT_KEY: LinkParameter(DEFAULT_TEXT, is_compressed=True),
    EDITS_KEY: LinkParameter("", is_compressed=True),
}


def controls(panels: Iterable[Panel]) -> dict[str, Control]:
    """Returns the controls of panels by their session keys."""
    return {one.name: one for panel in panels for one in panel.controls}


def linked_system(asked: Mapping[str, str]) -> Term | None:
    """Returns the system that a link opens to be changed, at its sizes; None if there is none."""
    page = asked.get(SYSTEM_KEY, "")
    entry = entry_of(page, asked) if page not in ("", CUSTOM_PAGE) else None
    if entry is None:
        return None
    sizes = {
        knob.name: knobs.nearest_legal(knob, asked.get(knob.name, str(knob.default)))[0]
        for knob in entry.knobs
    }
    term, refused = build_term(entry, entry.with_clamped_indexes(sizes))
    return None if refused else term


@dataclass
class PageState:
    """The session keys that a page stores in its link, and their last values.

    Streamlit drops the value of a widget that is not shown; ``last_values`` still has it.
    ``shared_values`` holds the values that the next page takes over, by their meaning.
    ``corrected_values`` holds the values that are really shown where the state names something that
    does not exist. ``link_mark`` marks the link of the app that was followed to the page.
    ``waiting`` is what the address holds for a system that is not known yet.
    """

    page: str
    parameters: Mapping[str, LinkParameter | Control]
    panels: Sequence[Panel] = ()
    shared_values: dict[str, Value] = field(default_factory=dict)
    last_values: dict[str, Value] = field(default_factory=dict)
    corrected_values: dict[str, Value] = field(default_factory=dict)
    link_mark: str = ""
    waiting: dict[str, str] | None = None


def opened_by_link() -> bool:
    """Returns whether one of the app's own links was followed to a page that is not yet open.

    Its mark stays in the address for a moment, in which a visitor may have changed something.
    """
    left: PageState | None = st.session_state.get(STATE)
    return st.query_params.get(LINK_MARK, "") not in ("", left.link_mark if left else "")


def load(page: Entry | str, panels: Sequence[Panel] = ()) -> None:
    """Reads the address into the session's state when a page has just opened.

    ``page`` is a system, or the name of a page without knobs: of one whose text has an error, all
    else in the address waits for :func:`switch_entry`.
    """
    name = page if isinstance(page, str) else page.name
    left: PageState | None = st.session_state.get(STATE)
    asked = _browser_query() if left is None else st.query_params.to_dict()
    mark, went = asked.pop(LINK_MARK, ""), opened_by_link()
    for key in PRESENTER_PARAMETERS:
        asked.pop(key, None)
    back = not went and streamlit_internals.went_back()
    if left is not None and left.page == name and not (went or back):
        return
    shared = {} if left is None else _close_page(left)
    stop_training()
    known = WITH_TEXT if page == CUSTOM_PAGE else {}
    names = known if isinstance(page, str) else parameters(page, panels)
    link = PageState(name, names, panels, shared, link_mark=mark)
    st.session_state[STATE] = link
    _read(link, asked, {} if back else shared)
    if SYSTEM_KEY in asked:  # has settings of another page, such as switches
        asked = {key: text for key, text in asked.items() if key in names}
        link.waiting = None
    if isinstance(page, Entry):
        knobs.parse_all(page)
        _note_unknown_parameters(link, asked)
    else:
        link.waiting = {key: text for key, text in asked.items() if key not in link.parameters}


def _read(link: PageState, asked: Mapping[str, str], shared: Mapping[str, Value]) -> None:
    """Puts what the address asks for, or else what pages share, into the session's state."""
    for key, kept in link.parameters.items():
        value = kept.read(asked[key]) if key in asked else None
        if value is None and kept.meaning in shared:
            value = shared[kept.meaning]
            value = pin.without_page_name(link.page, str(value)) if key == pin.PIN else value
        if value is not None:
            st.session_state[key] = value


_address_component = st.components.v2.component(
    "ncd_where",
    js="""
export default function ({ setStateValue }) {
  const search = new URLSearchParams(location.search);
  const told = new URLSearchParams(document.ncdTold?.["ncd-drawn"]?.ask);
  for (const [name, value] of new URLSearchParams(document.ncdDiagram?.want ?? ""))
    if (told.get(name) !== value) search.set(name, value); // no server has answered yet
  setStateValue("search", `?${search}`);
}
""",
)


def _browser_query() -> dict[str, str]:
    """Returns the query of the address, also in a session that has just reconnected.

    After a reconnection Streamlit reports the address with which the page was first opened, so the
    browser is asked for its current one, with the sizes that were set in the meantime.
    """
    if not streamlit_internals.has_reconnected():
        return st.query_params.to_dict()
    # The browser remembers a component's answer to another process under its key, so this is new.
    found = _address_component(
        key=f"where {streamlit_internals.session_id()}", on_search_change=lambda: None
    )
    if not found.search:
        st.stop()
    return dict(parse_qsl(str(found.search)[1:]))


def parameters(entry: Entry, panels: Sequence[Panel]) -> dict[str, LinkParameter | Control]:
    """Returns the session keys that the page of a system stores in its link, its knobs first."""
    sizes = {knob.name: _knob(knob) for knob in entry.knobs}
    sketch, _ = build_term(entry, entry.settings({}))
    given = _input_parameters(entry, sketch) if sketch else {}
    titles = tuple(panel.title for panel in panels)
    panel = {"panel": LinkParameter(titles[0], titles)} if titles else {}
    seed = {"seed": LinkParameter(0, meaning="seed")}
    walk = {step_key(entry): LinkParameter("")}
    own = WITH_TEXT if entry.text else {}
    return {
        **sizes,
        **seed,
        **SYSTEM_PARAMETERS,
        **walk,
        **given,
        **panel,
        **own,
        **controls(panels),
    }


def switch_entry(entry: Entry, edited: bool = False) -> None:
    """Replaces the knobs by those of another entry on the same page.

    If it is an ``edited`` form of the one before, what both know stays, but for sizes that the edit
    has changed.
    """
    link: PageState | None = st.session_state.get(STATE)
    if link is None or link.page != entry.name:
        return
    new = parameters(entry, link.panels)
    stays = {"panel", TEXT_KEY, EDITS_KEY, "device", "seed"}
    if edited:
        old = {name: kept.default for name, kept in link.parameters.items()}
        stays = {name for name, kept in new.items() if old.get(name, kept.default) == kept.default}
    for key in {*link.parameters, *(knob.name for knob in entry.knobs)} - stays:
        st.session_state.pop(key, None)
        link.last_values.pop(key, None)
    link.parameters, link.corrected_values = new, {}
    if link.waiting is not None:
        asked, link.waiting = link.waiting, None
        _read(link, asked, link.shared_values)
        knobs.parse_all(entry)
        _note_unknown_parameters(link, asked)


def step_key(entry: Entry) -> str:
    """Returns the key of a walk's current step: ``step``, or ``stop`` if a knob has that name."""
    return "stop" if any(knob.name == "step" for knob in entry.knobs) else "step"


def _input_parameters(entry: Entry, sketch: Term) -> dict[str, LinkParameter]:
    """Returns the keys for the choice of inputs, and for the sentences or pictures."""
    ways = input_feed.choices(entry, sketch)
    found = {input_feed.INPUT: LinkParameter(ways[0], ways)}
    if input_feed.TRAINED in ways:
        found[input_feed.KEY] = LinkParameter(SAMPLE_SENTENCE, max_length=MAX_LETTERS)
    if input_feed.WORDS in ways:
        axes = input_feed.sequences(sketch)
        found |= {f"text_{name}": LinkParameter("", max_length=MAX_LETTERS) for name in axes}
        found[f"text_{axes[0]}"] = LinkParameter(input_feed.SAMPLE, max_length=MAX_LETTERS)
        found["positions"] = LinkParameter(False)
    elif len(ways) > 1:
        found |= {
            key: LinkParameter(*choice) for key, choice in image_picker.session_keys(sketch).items()
        }
        found[image_picker.DRAWING] = LinkParameter("", max_length=MAX_LETTERS)
    return found


def _knob(knob: knobs.Knob) -> LinkParameter:
    """Returns how a knob is stored; knobs with the same name and help are shared between pages."""
    default = bool(knob.default) if knob.switch else knob.default
    return LinkParameter(default, meaning=f"{knob.name}: {knob.help}")


def _close_page(link: PageState) -> dict[str, Value]:
    """Forgets a page's values; returns those that the next page takes over."""
    shared = dict(link.shared_values)
    st.session_state.pop(selection.PANEL_BY_HAND, None)
    for key, kept in link.parameters.items():
        st.session_state.pop(key, None)
        value = link.last_values.get(key, kept.default)
        if key == pin.PIN:
            value = pin.with_page_name(link.page, _written_text(link), str(value))
        if kept.meaning and value != kept.default:
            shared[kept.meaning] = value
        else:
            shared.pop(kept.meaning, None)
    return shared


def _written_text(link: PageState) -> str:
    """Returns the text of a page of one's own, after its edits."""
    text, made = (str(link.last_values.get(key, "")) for key in (TEXT_KEY, EDITS_KEY))
    if not made:
        return text or DEFAULT_TEXT
    try:
        return system_after(text, read_edits(made)).system.entry.text
    except NCDError:  # a page whose text cannot be read has no pin of use
        return text


def _note_unknown_parameters(link: PageState, asked: Mapping[str, str]) -> None:
    """Shows a note about the parts of an address that this page does not know."""
    unread = [
        f"{key[:20]}={text[:20]}"
        for key, text in asked.items()
        if key not in link.parameters or link.parameters[key].read(text) is None
    ]
    if unread:
        more = f" and {len(unread) - 3} more" if len(unread) > 3 else ""
        names = ", ".join(unread[:3])
        knobs.set_notice("", f"The link has {names}{more}, which this page does not know.")


def restore_dropped() -> None:
    """Remembers all stored values, and restores those that Streamlit dropped with their widgets."""
    state = st.session_state.to_dict()  # one copy: each access takes some microseconds
    link: PageState = state[STATE]
    for key in link.parameters:
        if key in state:
            link.last_values[key] = state[key]
        elif key in link.last_values:
            st.session_state[key] = link.last_values[key]


def query(**seen: str) -> str:
    """Returns the query of the address for the current state, with its "?"; empty at the defaults.

    Called before the widgets of a run are made.
    """
    restore_dropped()
    link: PageState = st.session_state[STATE]
    link.corrected_values |= seen
    values = {
        key: link.corrected_values.get(key, link.last_values.get(key)) for key in link.parameters
    }
    said = {
        key: _link_text(link.parameters[key], value)
        for key, value in values.items()
        if value is not None and value != link.parameters[key].default
    }
    said = {
        key: text for key, text in said.items() if text or not link.parameters[key].is_compressed
    }
    said = {**(link.waiting or {}), **said}
    return f"?{urlencode(said, quote_via=quote, safe=',=:~')}" if said else ""


def _link_text(kept: LinkParameter | Control, value: Value) -> str:
    if kept.is_compressed:
        return link_text.compress_text(str(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


_link = st.components.v2.component("ncd_link", js=script("app/scene/link.js"))


def send_link(text: str, key: str = "told-address") -> None:
    """Sends a link to the browser; a later one in the same run has another key.

    An element of an older run may be shown after one of a newer, so each link has a number.
    """
    link: PageState = st.session_state[STATE]
    _link(key=key, data={"query": text, "page": link.page, **message_number()})


def message_number() -> dict[str, str | int]:
    """Returns the session of a message and its number, which grows with each message."""
    number = st.session_state.get(MESSAGE_COUNT, 0) + 1
    st.session_state[MESSAGE_COUNT] = number
    return {"session": streamlit_internals.session_id(), "number": number}
