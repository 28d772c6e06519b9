"""The pages without a server: what they lead to."""

from __future__ import annotations

import re

import ncd
from ncd.cli.picture_files import entry_facts
from ncd.static_site.site_files import entry_page


def test_a_page_leads_to_the_systems_before_and_after_it() -> None:
    entries = [ncd.catalogue[name] for name in ("elementwise", "linear-algebra", "indexes")]
    first, middle, last = (entry.name for entry in entries)
    expected = [[(middle, "next")], [(first, "prev"), (last, "next")], [(middle, "prev")]]
    for entry, beside in zip(entries, expected, strict=True):
        page, _ = entry_page(entry, entries, entry_facts)
        assert re.findall(r'href="\.\./([^"/]+)/" rel="(\w+)"', page) == beside
