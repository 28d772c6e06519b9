"""Configurations of ViT."""

from __future__ import annotations

from functools import partial

from ncd.lang.errors import SizeError
from ncd.models.configs.activation_names import activation
from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.configs.published import Published
from ncd.models.images.vision_transformer import vision_transformer

MEANINGS = {
    "x": "patches along each side",
    "s": "pixels along each side of a patch",
    "c": "colours",
    "v": "classes",
}


def read_vit(fields: Fields, kind: str) -> Published:
    """Returns ViT, with a class for each of its labels.

    Raises:
        SizeError: If the patches do not divide the image.
    """
    image, patch = fields.whole("image_size", default=224), fields.whole("patch_size", default=16)
    if image % patch:
        fact = f"patches of {patch} pixels do not divide an image of {image}"
        raise SizeError(fact, where="config.json", cure=f'"image_size": {image // patch * patch}')
    m, h = fields.whole("hidden_size", default=768), fields.whole("num_attention_heads", default=12)
    sizes = {
        "n": fields.whole("num_hidden_layers", default=12, most=LAYERS),
        "x": image // patch,
        "s": patch,
        "c": fields.whole("num_channels", default=3),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.whole("intermediate_size", default=3072),
        "v": len(fields.inner("id2label").values) or fields.whole("num_labels", default=1000),
    }
    system = partial(
        vision_transformer,
        eps=fields.number("layer_norm_eps", default=1e-12),
        activation=activation(fields, "hidden_act", default="gelu"),
    )
    source = "Dosovitskiy et al. 2021, ViT"
    return Published("ViT", source, sizes, system, rotary=False, meanings=MEANINGS)
