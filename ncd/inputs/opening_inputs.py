"""The inputs that the page of a system opens with."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.inputs import images, proofread_sentence
from ncd.inputs.run_inputs import Feed, sequences
from ncd.inputs.symbol_input import parse
from ncd.lang.terms.terms import Term
from ncd.models import Entry
from ncd.train.symbol_sequences import SEQUENCES


def opening_inputs(
    entry: Entry, term: Term, settings: Mapping[str, int] | None = None, seed: int = 0
) -> Feed:
    """Returns the example that a system opens with at some settings, or random arrays.

    >>> import ncd
    >>> def opened(name):
    ...     return opening_inputs(ncd.catalogue[name], ncd.catalogue[name].build())
    >>> opened("lenet").description, opened("layer-norm").description
    ('digit 7', 'random inputs')
    >>> opened("multi-head-attention").words["y"][:4]
    ('Anna', 'Hill', 'said', ',')
    """
    settings = settings or entry.settings({})
    if entry.name in SEQUENCES:
        read = parse(entry.name, settings["t"], settings["v"], seed)
        return Feed({term.dom[0][0].name: read.words}, numbers=read.numbers)
    if entry.name == proofread_sentence.PAGE:
        axes = sequences(term)
        words = proofread_sentence.read(proofread_sentence.SAMPLE, axes, settings)
        return Feed(words, trained=bool(words))
    if images.opens_with_sample(term):
        one = images.sample(images.samples(term)[0])
        return Feed(pictures=(one,) * len(images.names(term)))
    return Feed()
