"""The callouts as a list below the diagram, for a phone: they have no room beside it."""

from __future__ import annotations

import re

from ncd.export import markup
from ncd.export.mathml import mathml
from ncd.view.session.scene import Scene

SEEN = re.compile(r"(?<![_^])\{([^{}]*)\}")  # braces that a drawing shows; others group an index


def html(scene: Scene) -> str:
    """Returns the list; nothing on wider screens, or while callouts are off or hidden."""
    if not (scene.narrow and scene.notes) or scene.veil:
        return ""
    notes = scene.entry.callouts(scene.settings).values()
    return f"<ul>{''.join(f'<li>{spelled(note)}</li>' for note in notes)}</ul>" if notes else ""


def spelled(note: str) -> str:
    """Returns a callout's text as HTML; what stands between dollars is mathematics.

    >>> spelled("of ${0, 1}$").count('<mo stretchy="false">')
    2
    """
    parts = enumerate(note.split("$"))
    return "".join(
        mathml(SEEN.sub(r"\\{\1\\}", part)) if at % 2 else markup.text(part) for at, part in parts
    )
