"""Terms as JSON: ``{"term": "Softmax", "axis": "~x:22", "out": "weights"}``, nested.

Nothing is evaluated: a name is looked up in the catalogue of ops, and its fields are checked.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from ncd import ops
from ncd.axes import Array, Signature, Type
from ncd.errors import NCDError, ParseError, shown
from ncd.terms import Beside, Block, Id, Repeat, Term, Then

KINDS: dict[str, type[Term]] = {
    kind.__name__: kind for kind in (Id, Then, Beside, Block, Repeat, *ops.CATALOGUE)
}
DEPTH = 200
KIND_WORDS = {
    "int": "a whole number",
    "int | None": "a whole number or null",
    "bool": "true or false",
    "Term": "a term",
    "tuple[Term, ...]": "a list of one term or more",
}


def to_json(term: Term, *, indent: int | None = 2) -> str:
    """The term as JSON text.

    >>> to_json(Id("y:20 m"), indent=None)
    '{"term": "Id", "type": "y:20 m"}'
    """
    return json.dumps(_plain(term), indent=indent, ensure_ascii=False)


def from_json(text: str) -> Term:
    """The term of a JSON text.

    >>> str(from_json('{"term": "Id", "type": "y:20 m"}').dom)
    'y m'

    Raises ParseError for text that is no JSON, an unknown kind of term or field, and whatever the
    term itself raises when its types do not meet.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise ParseError(
            f"the term is nested more than {DEPTH} deep", cure="a flatter term"
        ) from None
    except (ValueError, TypeError) as error:
        raise ParseError(
            f"this is not JSON: {error}", cure="the text of an exported term"
        ) from None
    return _term(data, 0)


def _plain(value: Any) -> Any:
    if isinstance(value, Term):
        data = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}  # type: ignore[arg-type]
        return {"term": type(value).__name__, **data}
    if isinstance(value, Type | Array | Signature):
        return value.spec
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _term(data: Any, depth: int) -> Term:
    if depth > DEPTH:
        raise ParseError(f"the term is nested more than {DEPTH} deep", cure="a flatter term")
    if not isinstance(data, dict) or not isinstance(data.get("term"), str):
        raise ParseError(
            "a term is an object with the field term", cure='{"term": "Id", "type": "m"}'
        )
    values = dict(data)
    name = values.pop("term")
    kind = KINDS.get(name)
    if kind is None:
        close = get_close_matches(name, KINDS, n=1)
        cure = close[0] if close else f"one of {', '.join(KINDS)}"
        raise ParseError(f"there is no kind of term {shown(name)}", cure=cure)
    _check_fields(kind, values)
    built = {key: _value(value, depth) for key, value in values.items()}
    if kind in (Then, Beside):
        (parts,) = built.values()
        return kind(*parts)
    try:
        return kind(**built)
    except NCDError:
        raise
    except (TypeError, AttributeError, ValueError) as error:
        raise ParseError(
            f"{name} cannot be built: {error}", cure="the text of an exported term"
        ) from None


def _check_fields(kind: type[Term], values: dict[str, Any]) -> None:
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    needed = {n for n, f in known.items() if f.default is MISSING}
    extra, missing = sorted(set(values) - set(known)), sorted(needed - set(values))
    if extra or missing:
        fact = f"has no field {shown(extra[0])}" if extra else f"lacks the field {missing[0]}"
        names = ", ".join(known) or "none"
        raise ParseError(f"{kind.__name__} {fact}", cure=f"its fields: {names}")
    for key, value in values.items():
        _check_kind(kind.__name__, key, str(known[key].type), value)


def _check_kind(term: str, field: str, wanted: str, value: Any) -> None:
    checks = {
        "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
        "int | None": lambda v: v is None or (isinstance(v, int) and not isinstance(v, bool)),
        "bool": lambda v: isinstance(v, bool),
        "Term": lambda v: isinstance(v, dict),
        "tuple[Term, ...]": lambda v: isinstance(v, list) and len(v) > 0,
    }
    fits = checks.get(wanted, lambda v: isinstance(v, str))
    if not fits(value):
        raise ParseError(
            f"{term}.{field} is {shown(value)}, but it is {KIND_WORDS.get(wanted, 'text')}",
            cure="the text of an exported term",
        )


def _value(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return _term(value, depth + 1)
    if isinstance(value, list):
        return tuple(_term(item, depth + 1) for item in value)
    return value
