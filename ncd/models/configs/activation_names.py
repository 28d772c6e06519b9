"""The functions of feed-forwards, by the names that configurations give them."""

from __future__ import annotations

from ncd.lang.terms.terms import Term
from ncd.models.configs.config_fields import Fields
from ncd.models.images.contrastive_model import QUICK_GELU
from ncd.models.language_models.model_parts import tanh_gelu
from ncd.ops import Elementwise, Map

TANH = ("gelu_new", "gelu_pytorch_tanh", "gelu_fast")  # three names of one function
KNOWN = ("gelu", "quick_gelu", "relu", "relu2", "silu", "swish", "tanh", *TANH)


def activation(fields: Fields, *names: str, default: str) -> Term:
    """Returns the function of the feed-forward.

    Raises:
        UnknownNameError: For one that is not known here.
    """
    return named_activation(fields.choice(*names, default=default, known=KNOWN))


def named_activation(name: str) -> Term:
    """Returns the function of one of the ``KNOWN`` names."""
    if name == "relu2":
        return Map("() -> ()", "max($1, 0) ** 2", "ReLU²")
    if name == "quick_gelu":
        return QUICK_GELU
    return tanh_gelu() if name in TANH else Elementwise("silu" if name == "swish" else name)
