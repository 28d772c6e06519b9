"""Links from a line of einops to the page Yours, which has no six pictures but any shape."""

from __future__ import annotations

from urllib.parse import quote

from ncd.app.panels.tensors.einops_shape_check import Shape
from ncd.app.scene import own_entry
from ncd.app.scene.own_entry import reading
from ncd.app.state.link_text import compress_text
from ncd.errors import NCDError


def elsewhere(text: str) -> str:
    """Returns a link for a line that is not on the pictures, if Yours can read it.

    >>> "yours?text=" in elsewhere("b i d, b j d -> b i j"), elsewhere("b i (")
    (True, '')
    """
    words = "This line is not on the six pictures. Yours draws it, with any shape"
    return f"<p>{words}: {_link(text, 'open it there')}.</p>" if _readable(text) else ""


def shaped(text: str, shape: Shape) -> str:
    """Returns a link to the same line on an array of a shape that can be changed."""
    own = f"{text.strip()}\n{'x'.join(map(str, shape))}"
    words = "On an array of your own, or as an einsum"
    return f"<p>{words}: {_link(own, 'in Yours')}.</p>" if _readable(own) else ""


def _readable(text: str) -> bool:
    try:
        reading(text)
    except (NCDError, RecursionError):
        return False
    return True


def _link(text: str, words: str) -> str:
    address = f"{own_entry.CUSTOM_PAGE}?{own_entry.TEXT_KEY}={quote(compress_text(text))}"
    return f'<a href="{address}">{words}</a>'
