"""The variational autoencoder: a picture as a point with a spread, and a picture of each point."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import plain, seq
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Copy, Elementwise, Group, Linear, Map, Split
from ncd.systems.catalogue_entry import Entry, Preset


def vae(x: int = 8, d: int = 256, k: int = 2) -> Term:
    """Returns an autoencoder that puts each picture at a point, with a spread.

    Args:
        x: The height and width of the picture.
        d: The hidden features of the encoder and of the decoder.
        k: The numbers of a point.

    Returns:
        A term from a picture and noise to the picture again, the mean and the logarithm of the
        variance of its point, ``x y, k -> x y, k, k``.

    Source: Kingma and Welling 2014, "Auto-Encoding Variational Bayes", sections 2.4 and 3, and
    appendix C for the maps.

    >>> import ncd
    >>> x, d, k = 8, 256, 2
    >>> encoder, decoder = (x * x + 1) * d + 2 * (d + 1) * k, (k + 1) * d + (d + 1) * x * x
    >>> ncd.cost(vae(x, d, k)).parameters == encoder + decoder
    True
    """
    return Axes(x=seq(x), y=seq(x), p="x*y", d=d, e=plain(d, "d"), k=k)(_vae())


@lru_cache
def _vae() -> Term:
    ends = Copy("d") >> Linear("d -> k", "mean", True) @ Linear("d -> k", "log_variance", True)
    hidden = Group("x y -> p") >> Linear("p -> d", "encode", True) >> Elementwise("tanh")
    noisy = Map("k, k, k -> k", "$1 + exp($2 / 2) * $3", "point")
    decoder = (
        Linear("k -> e", "decode", True)
        >> Elementwise("tanh")
        >> Linear("e -> p", "pixels", True)
        >> Elementwise("sigmoid")
        >> Split("p -> x y")
    )
    return (
        Block(hidden >> ends, "Encoder", "residual") @ Id("k")
        >> Wire("k, k, k -> $1, $2, $3, $1, $2")
        >> Block(noisy, "Reparameterisation", "note") @ Id("k, k")
        >> Block(decoder, "Decoder", "window") @ Id("k, k")
    )


_KINGMA = 'Kingma and Welling 2014, "Auto-Encoding Variational Bayes", '
_FIGURES = {2: "appendix A and figure 4"}  # the picture of the plane; the others are compared
VAE = Entry(
    name="vae",
    title="Variational autoencoder",
    source="Kingma and Welling 2014, VAE",
    knobs=(
        Knob("x", 4, 32, 8, help="height and width", reason="8, as the digits have; 28 in MNIST"),
        Knob("d", 8, 512, 256, 8, "hidden features", "500 in the paper", least=1),
        Knob("k", 1, 20, 2, help="numbers of a point", reason="2, so that it can be walked in"),
    ),
    system=vae,
    section="Images",
    type="x y, k -> x y, k, k",
    presets=tuple(
        Preset(
            f"mnist-{k}",
            {"x": 28, "d": 500, "k": k},
            _KINGMA + _FIGURES.get(k, "section 5 and figure 2"),
            f"MNIST, {k} numbers",
        )
        for k in (2, 3, 5, 10, 20, 200)
    ),
    notes={
        "point": "A point is drawn near the mean, the further away the larger the variance; the "
        "noise comes from outside, so that both can be learned.",
    },
)
