"""The stored pictures of the catalogue, and the room of the drawing in which each is compared.

Each picture is compared once. A room has systems whose pictures together hold nearly everything
that the room decides; the other systems are compared with the whole drawing.
"""

from __future__ import annotations

import ncd
from ncd.cli.check import Case, picture

_NAMES = {
    "elements": """
        broadcasting convolution einops encoder-block fused-mlp gat gru identity-resnet indexes
        latent-attention linear-algebra lora merged-qkv mlp-geometry module-or-function
        multi-head-attention positional-embedding receptive-field reversal
        scaled-dot-product-attention
    """,
    "placement": """
        autograd convnext delta-rule depthwise-separable diffusion-unet dit elementwise
        encoder-decoder flash-attention image-recogniser inner-broadcasting linear-attention llama
        memory-order optimisers proofreader recall rotary subtensors visual-attention
    """,
    "plan": """
        bert decoder-block decoder-only-block deepseek gcn gemma induction mamba mixture-of-experts
        swin unet vae
    """,
}
SYSTEMS = {room: names.split() for room, names in _NAMES.items()}
OTHERS = [
    name for name in ncd.catalogue if not any(name in systems for systems in SYSTEMS.values())
]


def difference(name: str) -> str | None:
    """Returns how today's drawing of a system at its defaults differs from the stored picture."""
    entry = ncd.catalogue[name]
    return picture(Case(entry.build(), look=entry.look({}), entry=entry))
