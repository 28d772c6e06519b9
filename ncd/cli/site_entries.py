"""The entry of a system that is none of the catalogue, for commands that write pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ncd.cli.output import package_facts
from ncd.cli.system_argument import (
    check_runs,
    needs_run,
    refuse_inputs,
    text_term,
    title_source_and_text,
)
from ncd.errors import ParseError
from ncd.read.configs.config_reader import is_config, read_config
from ncd.read.recognise import is_source
from ncd.read.torch_module.from_torch import imported_file
from ncd.systems.catalogue_entry import Entry
from ncd.systems.term_entry import term_entry, visitor_system_name
from ncd.systems.training.trained_weights import TrainedWeights, weights_of_module


@dataclass(frozen=True)
class OwnEntry:
    """The entry of a file, of a module in one, or of standard input.

    ``facts`` are those of its origin, and ``weights`` the ones that the module has.
    """

    entry: Entry
    facts: Mapping[str, Any]
    weights: TrainedWeights | None = None


def read_site_entry(place: str, inputs: str) -> OwnEntry:
    """Returns the entry of a file, of a module in one, or of standard input.

    Raises:
        NCDError: For a file that cannot be read, or that fails.
    """
    title, source, text = title_source_and_text(place, inputs)
    facts = {"system": place, "inputs": inputs, **package_facts()}
    if text is None:
        found = imported_file(place, inputs)
        check_runs(place, found.failure)
        weights = weights_of_module(found.module(), title)
        name = visitor_system_name(title)
        entry = term_entry(found.term, name, title, source, independent_only=True)
        return OwnEntry(entry, facts, weights)
    if is_config(text):
        model = read_config(text)
        return OwnEntry(model.entry(visitor_system_name(model.title), text), facts)
    term, name, least = text_term(text, place), visitor_system_name(title), is_source(text)
    return OwnEntry(term_entry(term, name, title, source, text, independent_only=least), facts)


def read_site_entries(places: Sequence[str], inputs: str) -> dict[str, OwnEntry]:
    """Returns the entries of files by their names; ``inputs`` are of the modules among them.

    Raises:
        NCDError: For a file that cannot be read or that fails, two entries of one name, and shapes
            of inputs without a module.
    """
    if not any(map(needs_run, places)):
        refuse_inputs(inputs, "none is given", "FILE.py:NAME")
    found: dict[str, OwnEntry] = {}
    for place in dict.fromkeys(places):
        given = read_site_entry(place, inputs if needs_run(place) else "")
        if other := found.get(given.entry.name):
            both = f"{other.facts['system']} and {place} would both be {given.entry.name}"
            raise ParseError(both, cure="a copy of one under another name")
        found[given.entry.name] = given
    return found
