"""Terms as JSON: ``{"term": "Softmax", "axis": "~x:22"}``, nested; also inside SVG and HTML files.

Equal terms in sequence, such as the layers of a model, are one object with the field ``times``.
Nothing is evaluated: the class is looked up in the catalogue of ops, and every field is read by its
spelling, as in Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields
from html import escape, unescape
from itertools import groupby, repeat
from typing import Any

from ncd.errors import LimitError, NCDError, ParseError, plain_message, short_repr
from ncd.language.arguments import check_term
from ncd.language.blocks import Block, Equation
from ncd.language.fields import TERM, TERMS, spelling
from ncd.language.loops import Repeat, Scan
from ncd.language.terms import DEPTH, NODES, Beside, Id, Term, Then
from ncd.ops import CATALOGUE
from ncd.words import nearest_name

STRUCTURES: tuple[type[Term], ...] = (Id, Then, Beside, Block, Repeat, Scan, Equation)
KINDS: dict[str, type[Term]] = {kind.__name__: kind for kind in (*STRUCTURES, *CATALOGUE)}
INDENT = 80  # spaces of a level at most
LONGEST_JSON = 1_000_000  # letters of a text that is read
TIMES = "times"  # how often a term of a list follows upon itself

EXPORTED_TERM_CURE = "the text of an exported term"
IN_SVG = "<metadata>", "</metadata>"
IN_HTML = '<script type="application/json" id="term">', "</script>"


def to_json(term: Term, *, indent: int | None = 2, about: Mapping[str, Any] | None = None) -> str:
    """Returns the term as JSON text.

    Args:
        term: The term.
        indent: The number of spaces of each level; None for one line.
        about: Further information, which is written but not read back.

    Raises:
        ParseError: For something that is no term, and for ``indent`` or ``about`` of another kind.

    Source: this project's own format, described at the top of the module.

    >>> to_json(Id("y:20 m"), indent=None)
    '{"term": "Id", "type": "y:20 m"}'
    >>> from_json(to_json(Id("y:20 m"), about={"seed": 7}))
    Id('y:20 m')
    """
    check_term(term, "to_json")
    if indent is not None and (not isinstance(indent, int) or not 0 <= indent <= INDENT):
        fact = f"indent is {short_repr(indent)}, but it is a number of spaces, at most {INDENT}"
        raise ParseError(fact, where="to_json", cure="indent=2")
    said = {} if about is None or about == {} else {"about": _information(about)}
    return json.dumps({**said, **_plain_dict(term)}, indent=indent, ensure_ascii=False)


def _information(about: object) -> Mapping[str, Any]:
    """Returns further information; raises ParseError if JSON cannot hold it."""
    if isinstance(about, Mapping):
        with suppress(TypeError, ValueError, RecursionError):
            json.dumps(dict(about))
            return dict(about)
    fact = f"about is {short_repr(about)}, but it is a dict of what JSON can hold"
    raise ParseError(fact, where="to_json", cure='about={"seed": 7}')


def from_json(text: str) -> Term:
    """Returns the term of a JSON text; extra information under ``about`` is ignored.

    Args:
        text: The text, as written by :func:`to_json`.

    Raises:
        ParseError: For text that is not JSON, or an unknown term or field.
        LimitError: For text that is too long or nested too deep.
        NCDError: For a term that cannot be built, as in Python.

    Source: this project's own format, described at the top of the module.

    >>> str(from_json('{"term": "Id", "type": "y:20 m"}').dom)
    'y m'
    """
    if not isinstance(text, str):
        raise ParseError(f"{short_repr(text)} is no text", cure=EXPORTED_TERM_CURE)
    if len(text) > LONGEST_JSON:
        raise LimitError(
            f"the text has {len(text):,} letters, at most {LONGEST_JSON:,} are read",
            cure="a smaller term",
        )
    try:
        data = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        said = plain_message(str(error))
        raise ParseError(f"this is not JSON: {said}", cure=EXPORTED_TERM_CURE) from None
    if isinstance(data, dict):
        data.pop("about", None)
    return _term(data, 1)


def svg_with_term(svg: str, term: Term, about: Mapping[str, Any] | None = None) -> str:
    """Returns an SVG with the term as JSON in its metadata.

    >>> svg_with_term("<svg><g/></svg>", Id("m"))
    '<svg><g/><metadata>{&quot;term&quot;: &quot;Id&quot;, &quot;type&quot;: &quot;m&quot;}...'
    """
    drawn, end, _ = svg.rpartition("</svg>")
    begin, close = IN_SVG
    return f"{drawn}{begin}{escape(to_json(term, indent=None, about=about))}{close}{end}"


def term_script(term: Term, about: Mapping[str, Any] | None = None) -> str:
    """Returns the term as a data block of an HTML file, which no browser runs."""
    begin, close = IN_HTML
    safe = to_json(term, indent=None, about=about).replace(
        "<", r"\u003c"
    )  # nothing inside ends the block
    return f"{begin}{safe}{close}"


def term_of_file(text: str) -> Term:
    """Returns the term that an exported SVG or HTML file contains.

    >>> term_of_file(svg_with_term("<svg></svg>", Id("m")))
    Id('m')

    Raises ParseError for a file without a term, and whatever :func:`from_json` raises.
    """
    for begin, close in (IN_HTML, IN_SVG):  # an HTML file contains drawings too
        inside, ended, _ = text.partition(begin)[2].partition(close)
        if ended:
            return from_json(inside if begin == IN_HTML[0] else unescape(inside))
    raise ParseError(
        "this file contains no term", cure="an SVG or HTML file that was exported here"
    )


def _too_deep() -> LimitError:
    return LimitError(f"the term is nested more than {DEPTH} deep", cure="a flatter term")


def _plain_dict(term: Term) -> dict[str, Any]:
    found: dict[str, Any] = {"term": type(term).__name__}
    for f in fields(term):  # type: ignore[arg-type]
        value, by = getattr(term, f.name), spelling(f)
        if by is TERM:
            found[f.name] = _plain_dict(value)
        elif by is TERMS:
            found[f.name] = list(_plain_list(value))
        else:
            found[f.name] = by.json_value(value)
    return found


def _plain_list(terms: Sequence[Term]) -> Iterator[dict[str, Any]]:
    """Yields the terms of a list; those that are equal and in sequence are one object."""
    for term, same in groupby(terms):
        times = len(list(same))
        yield {TIMES: times, **_plain_dict(term)} if times > 1 else _plain_dict(term)


def _term(data: Any, depth: int) -> Term:
    if depth > DEPTH:
        raise _too_deep()
    if not isinstance(data, dict) or not isinstance(data.get("term"), str):
        raise ParseError(
            "a term is an object with the field term", cure='{"term": "Id", "type": "m"}'
        )
    values = dict(data)
    kind = _kind(values.pop("term"))
    known: dict[str, Field[Any]] = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    _check_names(kind, known, values)
    built = {name: _value(kind, known[name], value, depth) for name, value in values.items()}
    parts = built.pop(kind.variadic, ())
    try:
        return kind(*parts, **built)
    except NCDError as error:
        raise error.with_context(where=kind.__name__) from None


def _kind(name: str) -> type[Term]:
    kind = KINDS.get(name)
    if kind is None:
        cure = nearest_name(name, KINDS, '{"term": "Id", "type": "m"}')
        raise ParseError(f"there is no kind of term {short_repr(name)}", cure=cure)
    return kind


def _check_names(kind: type[Term], known: dict[str, Field[Any]], values: dict[str, Any]) -> None:
    needed = [name for name, f in known.items() if f.default is MISSING]
    extra = [name for name in values if name not in known]
    missing = [name for name in needed if name not in values]
    if extra or missing:
        fact = f"has no field {short_repr(extra[0])}" if extra else f"lacks the field {missing[0]}"
        names = f"its fields: {', '.join(known)}" if known else f"no field, as {kind.__name__} has"
        raise ParseError(f"{kind.__name__} {fact}", cure=names)


def _value(kind: type[Term], field: Field[Any], value: Any, depth: int) -> Any:
    """Returns a field for the constructor, which reads all fields except terms itself."""
    by = spelling(field)
    fits = {TERM: isinstance(value, dict), TERMS: isinstance(value, list) and len(value) > 0}
    if not fits.get(by, True):
        raise ParseError(
            f"{kind.__name__}.{field.name} is {short_repr(value)}, but it is {by.words}"
            f"{', one or more' if by is TERMS else ''}",
            cure=EXPORTED_TERM_CURE,
        )
    if by is TERM:
        return _term(value, depth + 1)
    if by is TERMS:
        return tuple(_terms(value, depth + 1))
    return value


def _terms(items: list[Any], depth: int) -> Iterator[Term]:
    """Yields the terms of a list, each as often as it says."""
    left = NODES
    for item in items:
        times = 1
        if isinstance(item, dict) and TIMES in item:
            item = dict(item)
            times = item.pop(TIMES)
        if type(times) is not int or times < 1:
            fact = f"{TIMES} is {short_repr(times)}, no whole number from 1"
            raise ParseError(fact, cure='"times": 2')
        left -= times
        if left < 0:
            raise LimitError(f"the term has more than {NODES:,} parts", cure="fewer")
        yield from repeat(_term(item, depth), times)
