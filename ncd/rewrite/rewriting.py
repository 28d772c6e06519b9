"""Rewrites of a term: what can be changed at a place of its drawing, and the term after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ncd.circuit.elaborate import elaborate
from ncd.errors import (
    LimitError,
    NCDError,
    ParseError,
    UnknownNameError,
    plain_message,
    short_repr,
)
from ncd.language.arguments import check_term
from ncd.language.cached_property import lazy_property
from ncd.language.terms import Term
from ncd.rewrite.rule_catalogue import RULES
from ncd.rewrite.rules.rule import WHOLE_TERM, Change, Rule, Target
from ncd.rewrite.rules.term_paths import TermPaths
from ncd.words import nearest_name

LONGEST_JSON = 2_000  # letters of a rewrite
EXAMPLE = '{"rewrite": "remove", "at": "n0"}'


@dataclass(frozen=True)
class Rewrite:
    """One change of a term at a place of its drawing; data that stands in a link.

    Args:
        name: The name of its rule, such as ``"insert"``.
        at: The place: an op ``n3``, an array ``v4``, a block ``f1``, an axis ``axis:m``, or empty
            for the whole term.
        options: Its parameters, such as ``(("op", "gelu"),)``.

    Raises:
        UnknownNameError: For a rule that does not exist.

    Source: this project's own rules, in ``ncd/rewrite/edits`` and ``ncd/rewrite/laws``.

    >>> from ncd.ops import Linear
    >>> insert = Rewrite("insert", "v1", (("op", "gelu"),))
    >>> insert.title, insert.is_law
    ('Insert GELU', False)
    >>> apply(Linear("m:3 -> k:2"), insert)
    Linear('m:3 -> k:2') >> Elementwise('gelu')
    """

    name: str
    at: str = WHOLE_TERM
    options: tuple[tuple[str, Any], ...] = ()

    @lazy_property
    def rule(self) -> Rule:
        """The rule that it applies."""
        return _rule(self.name)

    @property
    def title(self) -> str:
        """In plain words, what it does."""
        try:
            return self.rule.title(dict(self.options))
        except (KeyError, TypeError, ValueError):  # options of another kind, in a link
            return self.name

    @property
    def is_law(self) -> bool:
        """Whether the new term computes the same values as the old one."""
        return self.rule.is_law

    def to_json(self) -> str:
        """Returns it as JSON text.

        >>> Rewrite("remove", "n2").to_json()
        '{"rewrite": "remove", "at": "n2"}'
        """
        return json.dumps({"rewrite": self.name, "at": self.at, **dict(self.options)})

    @staticmethod
    def from_json(text: str) -> Rewrite:
        """Returns the rewrite of a JSON text.

        Raises:
            ParseError: For text that is no rewrite.
            UnknownNameError: For a rule that does not exist.
            LimitError: For a text that is too long.

        >>> Rewrite.from_json('{"rewrite": "insert", "at": "v1", "op": "gelu"}').title
        'Insert GELU'
        """
        data = _parse_object(text)
        name, at = data.pop("rewrite", None), data.pop("at", WHOLE_TERM)
        if not isinstance(name, str) or not isinstance(at, str):
            raise ParseError("a rewrite has a name and a place", where="Rewrite", cure=EXAMPLE)
        plain = (bool, int, float, str)
        if not all(isinstance(value, plain) for value in data.values()):
            fact = "an option is a number, a text, true or false"
            raise ParseError(fact, where=f"Rewrite {name}", cure=EXAMPLE)
        _rule(name)
        return Rewrite(name, at, tuple(data.items()))


def _parse_object(text: str) -> dict[str, Any]:
    if not isinstance(text, str):
        raise ParseError(f"{short_repr(text)} is no text", where="Rewrite", cure=EXAMPLE)
    if len(text) > LONGEST_JSON:
        fact = f"it has {len(text):,} letters, at most {LONGEST_JSON:,} are read"
        raise LimitError(fact, where="Rewrite", cure=EXAMPLE)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        fact = f"this is not JSON: {plain_message(str(error))}"
        raise ParseError(fact, where="Rewrite", cure=EXAMPLE) from None
    if not isinstance(data, dict):
        raise ParseError(f"{short_repr(data)} is no rewrite", where="Rewrite", cure=EXAMPLE)
    return data


def _rule(name: str) -> Rule:
    if name not in RULES:
        raise UnknownNameError(
            f"there is no rewrite {short_repr(name)}", cure=nearest_name(name, RULES)
        )
    return RULES[name]


# --- What applies at a place, and the new term


def rewrites(term: Term, at: str | None = None) -> tuple[Rewrite, ...]:
    """Returns the rewrites that apply at a place: edits, and laws, which preserve values.

    Each is tried by typing its result, so that all of them can be applied.

    Args:
        term: The term.
        at: An id as the drawing of the term has it, such as ``n3`` for an op, ``v4`` for an array,
            ``f1`` for a block; ``axis:m`` for an axis; None for the whole term.

    Returns:
        The rewrites, edits first. Those of an op may be at the array that it gives.

    Raises:
        ParseError: For something that is no term.
        UnknownNameError: For a place that the term does not have.
        NCDError: For a term whose types or sizes do not fit.

    Source: this project's own rules, in ``ncd/rewrite/edits`` and ``ncd/rewrite/laws``.

    >>> from ncd.ops import Linear, Softmax
    >>> [one.title for one in rewrites(Linear("m:3 -> k:2") >> Softmax("k"), "n1")][:3]
    ['Remove', 'Replace by sigmoid', 'Replace by ReLU']
    """
    target = _target(term, WHOLE_TERM if at is None else at, "rewrites")
    return tuple(_applicable(target))


def _applicable(target: Target) -> Iterator[Rewrite]:
    for name, rule in RULES.items():
        for at, options in rule.candidates(target):
            try:
                rule.check(Target(target.paths, at), options)
            except NCDError:
                continue
            yield Rewrite(name, at, tuple(options.items()))


USUAL_EDITS: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = (  # asked of any op or block
    ("remove", ()),
    ("residual", ()),
    ("repeat", (("times", 2),)),
)


def refusals(term: Term, at: str) -> dict[Rewrite, str]:
    """Returns the usual edits that do not apply at an op or a block, each with its reason.

    >>> from ncd.ops import Linear
    >>> [(one.name, why) for one, why in refusals(Linear("m:3 -> k:2"), "n0").items()][1]
    ('residual', 'it takes (m) and gives (k)')
    """
    target = _target(term, at, "rewrites")
    found = {}
    for name, options in USUAL_EDITS if target.is_part else ():
        try:
            RULES[name].check(target, dict(options))
        except NCDError as error:
            found[Rewrite(name, at, options)] = plain_message(error.fact)
    return found


def apply(term: Term, rewrite: Rewrite) -> Term:
    """Returns the term after a rewrite, with all its sizes.

    Args:
        term: The term.
        rewrite: The rewrite, such as one of :func:`rewrites`; its place is one of this term.

    Returns:
        The new term; the old one is as before.

    Raises:
        ParseError: For something that is no term or no rewrite, or for options of another kind.
        UnknownNameError: For a place that the term does not have, or an unknown option.
        MismatchError: For a rewrite that does not fit there, with what would.
        SizeError: For sizes that do not fit.

    Source: this project's own rules, in ``ncd/rewrite/edits`` and ``ncd/rewrite/laws``.

    >>> from ncd.ops import Linear, Softmax
    >>> apply(Linear("m:3 -> k:2") >> Softmax("k"), Rewrite("remove", "n1"))
    Linear('m:3 -> k:2')
    """
    new = rewrite_change(term, rewrite).term
    return elaborate(new).term


def rewrite_change(term: Term, rewrite: Rewrite) -> Change:
    """Returns the term after a rewrite, and the function that gives it its weights.

    Raises NCDError, as :func:`apply` does.
    """
    if not isinstance(rewrite, Rewrite):
        fact = f"{short_repr(rewrite)} is no rewrite"
        raise ParseError(fact, where="apply", cure='Rewrite("remove", "n0")')
    target = _target(term, rewrite.at, "apply")
    return rewrite.rule.change(target, dict(rewrite.options))


def _target(term: Term, at: str, where: str) -> Target:
    check_term(term, where)
    if not isinstance(at, str):
        raise ParseError(f"the place is {short_repr(at)}", where=where, cure='at="n0"')
    target = Target(TermPaths(elaborate(term)), at)
    target.check()
    return target
