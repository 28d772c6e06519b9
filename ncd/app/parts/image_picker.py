"""The choice of pictures, and the pad to draw one."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import streamlit as st

from ncd.app.parts import heatmap, html_panel
from ncd.app.parts.html_panel import read_static, sent_value
from ncd.app.state.session import session
from ncd.language.terms import Term
from ncd.site import markup
from ncd.site.scripts import script
from ncd.systems.inputs import picture_inputs
from ncd.systems.inputs.picture_inputs import (
    MAX_DRAWING_CHARACTERS,
    PEN,
    InputPicture,
    UnreadableError,
    valid,
)

# --- A canvas to draw on with the mouse, a finger or a pen

KEY, DRAWING = "canvas", "drawing"

_canvas = st.components.v2.component(
    "ncd_canvas",
    html="""<div class="board"><canvas tabindex="0" role="img"></canvas>
<div><button type="button" data-do="undo">Undo</button>
<button type="button" data-do="clear">Clear</button></div></div>""",
    css=read_static("parts/sketch_pad.css"),
    js=script("app/parts/sketch_pad.js"),
)


def show_pad(label: str) -> None:
    """Shows the canvas with the session's drawing, to which each stroke is added at once."""
    data = {
        "strokes": session_drawing(),
        "label": label,
        "pen": PEN,
        "most": MAX_DRAWING_CHARACTERS,
    }
    _canvas(key=KEY, data=data, on_drawn_change=_take_strokes)


def session_drawing() -> str:
    """Returns the session's drawing."""
    return valid(session().get(DRAWING, ""))


def _take_strokes() -> None:
    session()[DRAWING] = valid(sent_value(KEY, "drawn"))


# --- The choice of pictures: its session state and its widgets

SAMPLE, UPLOAD, DRAWN = "a sample", "upload", "drawing"
CHOICES = (SAMPLE, UPLOAD, DRAWN)
SHORT_LABELS = {
    SAMPLE: "sample",
    UPLOAD: "upload",
    DRAWN: "draw",
}  # short, so that four fit in one row
FILE, TAKEN, WRONG = "file", "uploaded picture", "unreadable picture"
SAME_PICTURE = "same"
THUMB = 36  # pixels a side
IN_A_ROW = 5  # of them, beside each other


def session_keys(sketch: Term) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Returns the session keys that a link keeps, with their defaults and allowed values.

    Each later input has a sample of its own, or the first one's picture.
    """
    _, *later = picture_inputs.names(sketch)
    every = picture_inputs.samples(sketch)
    own: dict[str, tuple[str, tuple[str, ...]]] = {"sample": (every[0], every)}
    own |= {f"sample_{name}": ("", every) for name in later}
    return own


def chosen_pictures(sketch: Term, way: str) -> tuple[InputPicture, ...]:
    """Returns a picture for each input."""
    _, *later = session_keys(sketch)
    one = _first_picture(sketch, way)
    return (one, *(_sample(sketch, name) or one for name in later))


def _first_picture(sketch: Term, way: str) -> InputPicture:
    if way == DRAWN:
        return picture_inputs.drawing(session_drawing())
    held: InputPicture | None = session().get(TAKEN) if way == UPLOAD else None
    return (
        held
        or _sample(sketch, "sample")
        or picture_inputs.sample(picture_inputs.samples(sketch)[0])
    )


def _sample(sketch: Term, key: str) -> InputPicture | None:
    default, every = session_keys(sketch)[key]
    name = session().get(key, default)
    return picture_inputs.sample(name) if name in every else None


# --- the widgets ----------------------------------------------------------------------------------


def show_picker(sketch: Term, way: str) -> None:
    """Shows the choice of pictures."""
    first, *later = picture_inputs.names(sketch)
    if way == SAMPLE:
        _gallery(sketch, "sample", "")
    elif way == UPLOAD:
        _upload()
    elif way == DRAWN:
        show_pad("What you draw goes in. Backspace takes a stroke back, Delete clears all.")
    for name in later:
        _gallery(sketch, f"sample_{name}", first)


def _gallery(sketch: Term, key: str, first: str) -> None:
    """Shows the samples as small pictures; a later input may also use the first one's picture."""
    default, every = session_keys(sketch)[key]
    now = session().get(key, default)
    buttons = [
        _button(name, name == now, _thumb(name, picture_inputs.classifies(sketch)))
        for name in every
    ]
    label = "Sample"
    if first:
        label = f"Picture for {key.removeprefix('sample_')}"
        buttons.insert(0, _button(SAME_PICTURE, not now, "", f"as {first}"))
    inner, style = "".join(buttons), "min-height:0;gap:0.1rem"
    html = f'<div class="heads" style="{style}" role="group" aria-label="{label}">{inner}</div>'
    if first:
        html = f"<p>{label}</p>{html}"
    place = "wall" if len(buttons) > IN_A_ROW else "gallery"  # the style sheet keeps its room
    html_panel.render(html, key=f"{key} {place}", on_pick=partial(_pick, key))


def _button(name: str, pressed: bool, picture: str, text: str = "") -> str:
    title = markup.text(text or name)
    style = f"width:{THUMB}px;height:{THUMB}px"
    shown = f'<img alt="{title}" style="{style}" src="{picture}">' if picture else title
    return (
        f'<button type="button" data-pick="{markup.text(name)}" title="{title}" '
        f'aria-pressed="{str(pressed).lower()}">{shown}</button>'
    )


def _pick(key: str, name: str) -> None:
    session()[key] = "" if name == SAME_PICTURE else name


@lru_cache(64)
def _thumb(name: str, fit: bool) -> str:
    seen = picture_inputs.sample(name).pixels(3, THUMB, THUMB, 0, fit).clamp(0, 1)
    return heatmap.image_url((255 * seen.permute(1, 2, 0)).byte().numpy())


def _upload() -> None:
    st.file_uploader(
        "A picture",
        type=[name.lower() for name in (*picture_inputs.FORMATS, "JPG")],
        key=FILE,
        on_change=_take_upload,
        max_upload_size=picture_inputs.MEGABYTES,
        label_visibility="collapsed",
    )
    wrong = session().get(WRONG)
    held: InputPicture | None = session().get(TAKEN)
    if wrong:
        st.caption(f":orange-background[{wrong}]")
    elif held:
        shown = heatmap.image_url((255 * held.pixels(3, 96, 96, 0).permute(1, 2, 0)).byte().numpy())
        st.html(f'<img alt="the uploaded picture" style="border-radius:4px" src="{shown}">')
    else:
        st.caption("None yet, so a sample goes in. No link carries a picture of yours.")


def _take_upload() -> None:
    """Reads an uploaded picture; a callback."""
    file: Any = session().get(FILE)
    session()[WRONG] = ""
    if file is None:
        session().pop(TAKEN, None)
        return
    try:
        session()[TAKEN] = picture_inputs.read_upload(file.getvalue())
    except UnreadableError as error:
        session()[WRONG] = str(error)
