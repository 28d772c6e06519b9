"""What the lessons on training and on deep networks claim, computed."""

from __future__ import annotations

from collections.abc import Mapping

import ncd
from ncd.app.panels.learning.signal_depth import SignalDepth, signal_depth, verdict
from ncd.systems.networks.weight_initialisation import INITS
from tests.systems.lessons.facts import Claim, Facts, answer

# --- initialisation


def signal(f: Facts) -> SignalDepth:
    """Deviations layer by layer, as the page opens."""
    term = f.circuit.term
    return signal_depth(ncd.compile(term), *ncd.example_inputs(term), seed=0)


def kept(f: Facts) -> bool:
    """Whether numbers and gradients arrive."""
    return verdict(signal(f)).startswith("✓")


LESSONS: Mapping[str, Mapping[str, Claim]] = {
    "initialisation": {
        "Twenty layers, each a map of 64 features and a ReLU.": lambda f: (
            len(f.ops("Linear")) == len(f.ops("relu")) == 20 and f.size("m") == 64
        ),
        "What do twice as many features cost?": answer("4 times as many"),
        "Each layer makes numbers 0.41 times as large, and after twenty a hundred-millionth is "
        "left.": lambda f: (
            round(signal(f).growth, 2) == 0.41 and 0.3e-8 < signal(f).activations[-1] < 3e-8
        ),
        "The gradient shrinks as much on its way back.": lambda f: (
            0.5 < signal(f).gradients[0] / signal(f).activations[-1] < 2
        ),
        "Kaiming’s weights are 2.4 times as large, √6: what a ReLU takes away is put back in each "
        "layer, and both arrive.": lambda f: (
            abs(signal(f).weight / signal(f.at()).weight - 6**0.5) < 0.03 and kept(f)
        ),
        "Xavier’s are smaller than those by √2.": lambda f: (
            abs(signal(f.at(init=3)).weight / signal(f).weight - 2**0.5) < 0.02
        ),
        "That much is lost in every layer, and after twenty a thousandth is left.": lambda f: (
            0.5e-3 < signal(f).activations[-1] < 2e-3
        ),
        "If one of the maps gives zeros, what is left of the input?": answer(
            "on nothing: it is the same for every input"
        ),
        "All of it, as it passes beside the map.": lambda f: f.settings["residual"] == 1,
        "With a norm as well every choice of weights arrives at both ends.": lambda f: all(
            kept(f.at(residual=1, norm=1, init=kind)) for kind in range(len(INITS))
        ),
        "For a tanh it is right: near 0 a tanh is a straight line, and lets all of it through.": (
            kept
        ),
    },
}
