"""The system that a command is given: of the catalogue, in a file, on standard input, a module."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ncd
from ncd.cli.output import STDOUT, entry_facts, package_facts
from ncd.errors import ParseError, unknown_name_error
from ncd.language.terms import Term
from ncd.read.configs.config_reader import READERS
from ncd.systems.catalogue_entry import Entry

CONFIG = "hf:"  # before the file of a published configuration
# A name in a file of Python, `model.py:Net`, which has to be run; a path has its drive before it.
MODULE = re.compile(r".+\.py:[^\W\d]\w*")


@dataclass(frozen=True)
class GivenSystem:
    """A term with what its views say about it; without an entry it is not of the catalogue."""

    term: Term
    name: str
    title: str
    source: str
    settings: Mapping[str, int]
    facts: Mapping[str, Any]
    entry: Entry | None = None

    @property
    def class_name(self) -> str:
        """The name of its class in a PyTorch file.

        >>> GivenSystem(ncd.Id("m:3"), "my-net_2", "", "", {}, {}).class_name
        'MyNet2'
        """
        if self.entry is not None:
            return self.entry.identifier
        words = re.findall(r"[A-Za-z0-9]+", self.name)
        joined = "".join(word[:1].upper() + word[1:] for word in words)
        return joined if joined[:1].isalpha() else f"Net{joined}"

    @property
    def headline(self) -> str:
        """The line above its tables: its title, its source and its sizes."""
        sizes = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        return f"{self.title} ({self.source})" + (f", {sizes}" if sizes else "")


def named_system(args: argparse.Namespace) -> GivenSystem:
    """Returns the system that the arguments of a command name, at its settings.

    Raises:
        NCDError: For an unknown name, a file that cannot be read or that fails, or settings of
            something that has no knobs.
    """
    place: str = args.name
    inputs: str = args.inputs
    if not is_file(place):
        refuse_catalogue_inputs(args)
        entry = ncd.catalogue[place]
        settings = catalogue_settings(entry, args)
        facts = entry_facts(entry, settings)
        term = entry.build(**settings)
        return GivenSystem(term, entry.name, entry.title, entry.source, settings, facts, entry)
    if args.preset:
        fact = f"--preset is of a system of the catalogue, and {place!r} is a file"
        raise ParseError(fact, cure="--set")
    title, source, text = title_source_and_text(place, inputs)
    facts = {"system": place, "inputs": inputs, **package_facts()}
    if text is not None:
        term = _with_sizes(text_term(text, place), args.set)
    elif args.set:
        fact = f"the sizes of {place!r} are those of its inputs and its layers"
        raise ParseError(fact, cure="other --inputs")
    else:
        term = _module_term(place, inputs)
    return GivenSystem(term, title, title, source, {}, facts)


def title_source_and_text(place: str, inputs: str) -> tuple[str, str, str | None]:
    """Returns the title and the source of a file, and its text; None in its place if it is run.

    Raises:
        ParseError: For a file that cannot be read, or shapes of inputs for one that is not run.
    """
    if place == STDOUT:
        title, source = "Net", "standard input"
    elif MODULE.fullmatch(place):
        return place.rpartition(":")[2], place, None
    else:
        title, source = Path(place.removeprefix(CONFIG)).stem, place
    if place.startswith(CONFIG):
        text = "" if inputs else configuration_text(place)  # else the library `transformers`
        return title, source, text or None
    refuse_inputs(inputs, f"{source} is read, and never run", "FILE.py:NAME")
    return title, source, file_text(place)


def refuse_inputs(inputs: str, why: str, cure: str) -> None:
    """Raises ParseError for shapes of inputs where no module is run."""
    if inputs:
        raise ParseError(f"--inputs are of a module that is run, and {why}", cure=cure)


def refuse_catalogue_inputs(args: argparse.Namespace) -> None:
    refuse_inputs(args.inputs, f"{args.name!r} is a system of the catalogue", "--set")


def _with_sizes(term: Term, pairs: Sequence[str]) -> Term:
    """Returns a term with other sizes of its axes, from ``--set`` (``m=64``)."""
    sizes = dict(_setting(pair, "m=64") for pair in pairs)
    arrays = (value.array for value in ncd.elaborate(term).values.values())
    axes = {axis.name: axis for array in arrays for axis in array}
    for name, size in sizes.items():
        if name not in axes:
            raise unknown_name_error("axis", name, axes, where="--set")
        if not isinstance(size, int):
            raise ParseError(f"--set {name}={size} is no size", cure=f"--set {name}=64")
    return ncd.Axes(**sizes)(term) if sizes else term


def _setting(pair: str, example: str) -> tuple[str, int | str]:
    """Returns a name and its number, or its text where it is none, of ``h=8``."""
    name, equals, text = pair.partition("=")
    if not equals:
        raise ParseError(f"--set {pair!r} has no =", cure=f"--set {example}")
    return name, int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else text


def note_pair(pair: str) -> tuple[str, str]:
    """Returns the place and the text of a callout, of ``Softmax=shares of 1``."""
    place, equals, text = pair.partition("=")
    if not equals:
        raise ParseError(f"--note {pair!r} has no =", cure='--note "Softmax=shares of 1"')
    return place, text


def is_file(place: str) -> bool:
    """Returns whether an argument is a file, a module in one, or standard input; else a name.

    >>> [is_file(place) for place in ("-", "net.ncd", "model.py:Net", "gpt-2")]
    [True, True, True, False]
    """
    return place == STDOUT or "." in place or "/" in place or Path(place).is_file()


def needs_run(place: str) -> bool:
    """Returns whether a file has to be run, as it holds a module: ``model.py:Net``."""
    return place.startswith(CONFIG) or MODULE.fullmatch(place) is not None


def file_text(file: str) -> str:
    """Returns the text of a file, or of standard input; raises ParseError if it has none."""
    try:
        if file == STDOUT:
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ParseError(f"cannot read {file!r}: {reason}", cure="another file") from None


def catalogue_settings(entry: Entry, args: argparse.Namespace) -> dict[str, int]:
    """Returns all knobs of an entry, set by a preset and by ``--set`` (``h=8``)."""
    turned: dict[str, Any] = dict(entry.preset(args.preset).knobs) if args.preset else {}
    first = entry.knobs[0]
    turned |= dict(_setting(pair, f"{first.name}={first.default}") for pair in args.set)
    return entry.settings(turned)


def configuration_text(place: str) -> str:
    """Returns the text of a configuration whose model has a term here, or an empty text."""
    try:
        text = Path(place.removeprefix(CONFIG)).read_text()
        kind = str(json.loads(text).get("model_type", ""))
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
    return text if kind in READERS else ""


def _module_term(place: str, inputs: str) -> Term:
    from ncd.read.torch_module.from_torch import imported_file

    found = imported_file(place, inputs)
    check_runs(place, found.failure)
    return found.term


def check_runs(place: str, failure: str) -> None:
    """Raises ParseError with the error of a module that stops, if it does."""
    if failure:
        fact = f"{place} stops: {failure.splitlines()[-1]}"
        raise ParseError(fact, cure=f"ncd import {place}, which says what would work")


def text_term(text: str, place: str) -> Term:
    """Returns the term of a text, which is read and never run; raises ParseError if it fails."""
    answer = ncd.ask(text)
    failures = [each for each in answer.findings if each.kind == "failure"]
    if answer.term is None or failures:
        fact = failures[0].says if failures else answer.sentence
        more = not failures or failures[0].cures  # than is said here
        cure = f"ncd ask {place}, which says what would work" if more else ""
        where = f"{place}, line {failures[0].line}" if failures and failures[0].line else place
        raise ParseError(f"{where}: {fact}", cure=cure)
    return answer.term
