"""What an HTML file contains compressed: drawings, cards, and the parts that open."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from typing import Any


def packed(text: str, id: str = "states", views: str = "views") -> dict[str, Any]:
    """The texts of a block: ``states`` has the drawings, ``later`` the cards and the parts.

    ``views`` are the drawings: "views", or "valued" with values on the wires.
    """
    found = re.search(rf'id="{id}"[^>]*>([^<]*)<', text)
    assert found
    data = json.loads(gzip.decompress(b64decode(found[1])))
    if id != "states":
        return data
    states = data[views][0]["states"]  # of the widest
    return {name: "".join(data["parts"][i] for i in own) for name, own in states.items()}


def whole(text: str) -> str:
    """The file with all that its script may put into the page."""
    return text + "".join((*packed(text).values(), *packed(text, "later").values()))
