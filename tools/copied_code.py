"""A hook of MkDocs: code is copied as it runs, and the address of the repository is one setting.

Examples with prompts are marked as such, so that ``docs/copied_code.css`` leaves the prompts and
the output out of what is copied. Where ``mkdocs.yml`` has a ``repo_url``, it is in the commands.
"""

from __future__ import annotations

import re
from typing import Any

PROMPTS = re.compile(r"^```python\n(?=>>> )", re.M)
ADDRESS = "ADDRESS-OF-THIS-REPOSITORY"


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Returns the text of a page with marked prompts, and with the address that is set."""
    return PROMPTS.sub("```pycon\n", markdown).replace(ADDRESS, config["repo_url"] or ADDRESS)
