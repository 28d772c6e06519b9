"""The frame of every page: the diagram first, then the sidebar, the open panel and the prose."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from time import sleep
from urllib.parse import quote

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ncd.app.figure import diagram
from ncd.app.page import export_menu, large_run, metrics, moves, sidebar
from ncd.app.page.page_scene import page_scene
from ncd.app.panels.walk.compare import COMPARE
from ncd.app.panels.walk.step import STEP
from ncd.app.parts import html_panel
from ncd.app.runtime import scheduler, streamlit_internals
from ncd.app.scene import refusal, url
from ncd.app.scene.own_entry import CUSTOM_PAGE, TEXT_KEY
from ncd.app.scene.panel import Panel
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.scene.session_weights import rerun_when_trained
from ncd.app.state import selection
from ncd.app.state.link_text import compress_text
from ncd.app.teach import quiz
from ncd.app.teach.lesson_view import leave, show_presenter, show_question, with_question
from ncd.app.teach.quiz import locked_panel
from ncd.errors import LimitError
from ncd.rewrite.derivations import DERIVATIONS
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry

COMMON_PANELS = (STEP, COMPARE)  # the panels of every page, after its own
HEAD_START = 0.03  # seconds for the diagram to be sent and shown before the rest is computed


def render_page(
    entry: Entry,
    lead: str,
    why: str,
    panels: Sequence[Panel],
    above: Callable[[], None] | None = None,
    typed: Callable[[Entry], Entry] = lambda entry: entry,
    tools: Callable[[Scene | Refusal], None] | None = None,
) -> None:
    """Shows a page, with ``lead`` above the diagram and ``why`` at the end.

    ``above`` shows what stands between the lead and the diagram, and ``tools`` a bar above the
    diagram that depends on what is selected in it; ``typed`` returns the entry with the same knobs
    that a visitor's line in a panel makes of the page's.

    Parts that no knob changes are sent once, here. The sidebar is a fragment, and everything that
    depends on it is another. The diagram is filled first, then the sidebar, then the panel.
    """
    panels = (*panels, *COMMON_PANELS)
    url.load(entry, panels)
    side = st.sidebar.container()  # created first, filled later, so that nothing jumps
    header = _head(entry.title, f"{lead.strip()} :small[{_escape_markdown(entry.source)}]")
    with header:
        show_presenter(entry)
    if above:
        above()
    url.restore_dropped()
    body = st.container(key="circuit-column")
    with st.container(key="panels"):
        tabs = st.tabs(
            [panel.title for panel in panels], on_change=selection.keep_panel, key=selection.PANEL
        )
    tab, opened = next(pair for pair in zip(tabs, panels, strict=True) if pair[0].open)
    with body:
        _body_fragment(entry, side, tab, opened, typed, panels, tools)
    with header:
        export_menu.show(lambda: _scene(typed(entry)))
    _show_why_section(f"{why}\n{_derivation_link(entry.name)}")
    if entry.name in CATALOGUE:
        with st.container(key="beyond"):
            st.markdown(_neighbour_links(entry))


def page_without_diagram(title: str, lead: str, why: str, above: Callable[[], None]) -> None:
    """Shows a page whose system is not known, as its text has an error."""
    _head(title, lead.strip())
    above()
    _show_why_section(why)
    url.send_link(url.query())
    leave()
    html_panel.render(html_panel.OPENS, "opens")


def _head(title: str, lead: str) -> DeltaGenerator:
    """Shows title and lead; returns the line of the title."""
    header = st.container(horizontal=True, vertical_alignment="bottom", key="header")
    with header:
        st.title(title, anchor=False)
    with st.container(key="lead"):
        st.markdown(lead)
    return header


def _show_why_section(why: str) -> None:
    with st.container(key="why"):
        st.header("Why it works", anchor=False)
        st.markdown(why)


def _derivation_link(name: str) -> str:
    """Returns a link that opens the derivation of a system, to be walked law by law."""
    found = DERIVATIONS.get(name)
    if found is None:
        return ""
    address = f"{CUSTOM_PAGE}?{TEXT_KEY}={quote(compress_text(found.text))}"
    return f"**[{found.title}, law by law]({address})**, each proved on numbers."


def _escape_markdown(said: str) -> str:
    """Returns a text as Markdown that shows it letter by letter.

    >>> print(_escape_markdown("a_1 [b]"))
    a\\_1 \\[b\\]
    """
    return re.sub(r"([!-/:-@[-`{-~])", r"\\\1", said)


def _neighbour_links(entry: Entry) -> str:
    """Returns links to the systems before and after one, in the order of the menu.

    >>> from ncd.systems.catalogue import CATALOGUE
    >>> _neighbour_links(CATALOGUE["scaled-dot-product-attention"])
    '[Multi-head attention →](multi-head-attention)'
    """
    every = list(CATALOGUE.values())
    at = every.index(entry)
    before = [f"[← {own.title}]({own.name})" for own in every[:at][-1:]]
    after = [f"[{own.title} →]({own.name})" for own in every[at + 1 :][:1]]
    return "\n".join(before + after)


@streamlit_internals.fragment(streamlit_internals.CHANGING)
def _body_fragment(
    entry: Entry,
    side: DeltaGenerator,
    tab: DeltaGenerator,
    opened: Panel,
    typed: Callable[[Entry], Entry],
    panels: Sequence[Panel],
    tools: Callable[[Scene | Refusal], None] | None,
) -> None:
    """Shows everything that depends on a knob, the diagram first."""
    url.restore_dropped()
    sidebar.rerun_if_outdated(entry)
    with metrics.measured_run(entry), scheduler.turn():
        _change(typed(entry), side, tab, opened, panels, tools)


def _change(
    entry: Entry,
    side: DeltaGenerator,
    tab: DeltaGenerator,
    opened: Panel,
    panels: Sequence[Panel],
    tools: Callable[[Scene | Refusal], None] | None,
) -> None:
    scene, link, untimed = _scene(entry), "", False
    moves.remember(entry, opened, dark=st.context.theme.type == "dark")
    bar = st.container(key="tools") if tools else None  # in its place before the diagram comes
    if isinstance(scene, Scene):
        link, untimed = _show_diagram(scene, panels)
    if tools and bar:
        with bar:
            tools(scene)
    if streamlit_internals.is_full_script_run():
        with streamlit_internals.outside_fragments(), side:
            sidebar.render(entry)
    with tab:
        # This run ends for one that makes the panel anew; until then the panel stays as it is.
        streamlit_internals.stop_if_superseded()
        if streamlit_internals.will_rerun_fragment(
            streamlit_internals.CHANGING
        ):  # and the whole page is run
            st.empty()  # so that the run that waits, which is of the fragment, may write here
        else:
            _panel(scene, opened, link, untimed)
        if isinstance(scene, Refusal) or url.query() != link:  # a panel corrected a setting
            url.send_link(url.query(), "told-address in the end")
    rerun_when_trained(entry)


def _show_diagram(scene: Scene, panels: Sequence[Panel]) -> tuple[str, bool]:
    """Shows the diagram; returns the link of the page, and whether its time is to be measured."""
    lit = selection.axes(scene.circuit, scene.entry)
    link = url.query(**{selection.SELECTED_KEY: scene.selected_id, selection.AXES: lit})
    diagram.render(scene, link, panels)
    with scheduler.yielded_turn():
        sleep(HEAD_START)
    url.send_link(link)
    quiz.show(scene)
    show_question(scene)
    untimed = scene.can_run and not scene.hidden_sizes and scene.known_seconds is None
    if not untimed or scene.starts_on_demand:
        diagram.send_cost_line(scene, link, diagram.cost_line(scene, scene.known_seconds))
    return link, untimed


def _scene(entry: Entry) -> Scene | Refusal:
    scene = page_scene(entry, dark=st.context.theme.type == "dark")
    return with_question(quiz.with_question(scene)) if isinstance(scene, Scene) else scene


def _panel(scene: Scene | Refusal, opened: Panel, link: str, untimed: bool) -> None:
    """Shows the open panel, then updates the line under the diagram with a newly measured time."""
    if isinstance(scene, Refusal):
        refusal.render(scene)
        return
    if scene.hidden_sizes:
        opened = locked_panel(opened.title)
    if scene.refusal:
        refusal.render(scene.refusal)
        if opened.needs_run:
            large_run.render(scene)
        elif scene.has_all_sizes:
            opened.show(scene)
        return
    seconds = None
    try:
        opened.show(scene)
        if untimed and (
            scene.is_quick or scene.is_compiled
        ):  # else the panel runs nothing of its size
            seconds = scene.seconds
    except (RuntimeError, MemoryError, LimitError) as error:  # such as a GPU that others fill
        st.warning(f"The run on {scene.device} failed. Try another device, or smaller sizes.")
        st.text(str(error).strip().partition("\n")[0])
    if untimed and (seconds is not None or not scene.starts_on_demand):
        diagram.send_cost_line(scene, link, diagram.cost_line(scene, seconds), timed=True)
