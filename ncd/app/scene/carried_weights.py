"""The trained weights of a text that is edited: those of the trained system that it began as."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache

from safetensors.torch import load
from torch import Tensor

from ncd.app.scene.edited_system import system_after
from ncd.app.scene.session_weights import TRAINING_KEY, Training
from ncd.app.state.cache import cached_value
from ncd.app.state.session import session
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.language.terms import Term
from ncd.rewrite.law_check import carried_weights
from ncd.rewrite.rewriting import Rewrite, rewrite_change
from ncd.rewrite.rules.rule import Change
from ncd.run.guard import compile
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.training.trained_weights import (
    TrainedWeights,
    shipped_file,
    shipped_weights,
    weights_file,
)

Numbers = Mapping[str, Tensor]


def weights_after(
    text: str, edits: Sequence[Rewrite], term: Term, seed: int
) -> TrainedWeights | None:
    """Returns the trained weights of a text after edits, as far as they fit.

    Args:
        text: The text, which is that of a trained system.
        edits: The edits.
        term: The term after them, at the sizes that are shown.
        seed: What weights are drawn from that no training has made.

    Returns:
        The weights, whose summary says how many arrays are kept; None where none are.
    """
    try:
        start = system_after(text, ()).term
        trained = _trained_weights(start)
        if trained is None:
            return None
        key = trained.key, text, tuple(edits), seed
        return cached_value(
            "carried weights",
            term,
            *key,
            make=lambda: _carry(trained, start, text, edits, term, seed),
        )
    except NCDError:  # of sizes or edits that are not possible: the page says so
        return None


def _carry(
    trained: TrainedWeights,
    start: Term,
    text: str,
    edits: Sequence[Rewrite],
    term: Term,
    seed: int,
) -> TrainedWeights | None:
    numbers: Numbers = load(trained.weights)
    kept = {*numbers}
    terms = (start, *(system_after(text, edits[: n + 1]).term for n in range(len(edits))))
    changes = [rewrite_change(before, edit) for before, edit in zip(terms, edits, strict=False)]
    for change, after in zip((*changes, Change(term)), (*terms[1:], term), strict=True):
        drawn = compile(after, seed).state_dict()
        found, made = carried_weights(change, numbers, drawn), change.weights(numbers)
        kept = {name for name in found if found[name] is not drawn[name]} & {*kept, *made}
        numbers = found
    if not kept:
        return None
    summary = f"{trained.summary}, {len(kept)} of {len(numbers)} arrays of weights kept"
    return TrainedWeights(weights_file(numbers, {}), summary if edits else trained.summary)


# --- The trained system that a text is of


def _trained_weights(term: Term) -> TrainedWeights | None:
    """Returns the weights of the trained system that a term is, if it is one."""
    sign = _sign(term)
    own: Training | None = session().get(TRAINING_KEY)
    if own is not None and own.learned_weights is not None and own.page in CATALOGUE:
        is_own = _sign(CATALOGUE[own.page].build(**own.settings)) == sign
        if is_own:
            return own.learned_weights
    name = _shipped_systems().get(sign)
    return shipped_weights(CATALOGUE[name], CATALOGUE[name].settings({})) if name else None


@lru_cache(1)
def _shipped_systems() -> Mapping[Hashable, str]:
    """Returns the names of the systems that weights are shipped for, by their layers."""
    return {
        _sign(entry.build()): name
        for name, entry in CATALOGUE.items()
        if shipped_file(entry, entry.settings({})) is not None
    }


def _sign(term: Term) -> Hashable:
    """Returns what two systems have in common that one training fits: ops, and their weights."""
    return tuple(
        (
            type(cell.op).__name__,
            cell.path,
            *(own.array.shape for own in cell.initial_values.values()),
        )
        for cell in elaborate(term).cells
    )
