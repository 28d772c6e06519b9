"""Configurations of ViT, DeiT, DINOv2, Swin, ConvNeXt, CLIP and its sides, and SigLIP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ncd.errors import SizeError
from ncd.read.configs.config_fields import LAYERS, Fields, PublishedModel, activation
from ncd.systems.images.contrastive_model import clip, clip_pictures, clip_sentences
from ncd.systems.images.convnext import convnext
from ncd.systems.images.sigmoid_contrastive import siglip
from ncd.systems.images.swin import swin
from ncd.systems.images.vision_transformer import vision_transformer

VIT = {
    "x": "patches along each side",
    "s": "pixels along each side of a patch",
    "c": "colours",
    "v": "classes",
}
SWIN = {
    "n": "pairs of layers of the third stage",
    "w": "patches along each side of a window",
    "s": "pixels along each side of a patch",
    "h": "heads of the first stage",
    "y": "classes",
}
CONVNEXT = {
    "n": "blocks of the other stages",
    "N": "blocks of the third stage",
    "c": "channels of the first stage",
    "r": "reach of a window, to each side",
    "x": "height and width",
    "y": "classes",
}
SMALL_SIZES = {"n": 1, "N": 2, "c": 8, "r": 3, "w": 3, "h": 1, "s": 4, "k": 8, "y": 10}
CLIP = {
    "i": "pictures",
    "j": "sentences",
    "n": "layers that read a picture",
    "l": "layers that read a sentence",
    "x": "patches along each side",
    "p": "pixels along each side of a patch",
    "h": "heads that read a picture",
    "s": "words of a sentence",
    "g": "heads that read a sentence",
    "k": "features of a head that reads a picture",
    "r": "features of a head that reads a sentence",
    "z": "numbers of a point",
}


def read_vit(fields: Fields, kind: str) -> PublishedModel:
    """Returns ViT or DeiT, with a class for each of its labels.

    Raises:
        SizeError: If the patches do not divide the image.
    """
    m, h = (
        fields.integer("hidden_size", default=768),
        fields.integer("num_attention_heads", default=12),
    )
    patch = fields.integer("patch_size", default=16)
    sizes = {
        "n": fields.integer("num_hidden_layers", default=12, most=LAYERS),
        "x": _patches(fields, patch),
        "s": patch,
        "c": fields.integer("num_channels", default=3),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.integer("intermediate_size", default=3072),
        "v": _classes(fields),
    }
    system = partial(
        vision_transformer,
        eps=fields.number("layer_norm_eps", default=1e-12),
        activation=activation(fields, "hidden_act", default="gelu"),
    )
    if kind == "vit":
        source = "Dosovitskiy et al. 2021, ViT"
        return PublishedModel("ViT", source, sizes, system, rotary=False, meanings=VIT)
    system = partial(system, tokens=("cls_token", "distillation_token"))
    if "WithTeacher" in str(fields.get("architectures")):
        system = partial(system, heads=("cls_classifier", "distillation_classifier"))
    return PublishedModel("DeiT", "Touvron et al. 2021, DeiT", sizes, system, False, meanings=VIT)


def _patches(fields: Fields, patch: int) -> int:
    """Returns the patches along each side of an image.

    Raises:
        SizeError: If they do not divide it.
    """
    image = fields.integer("image_size", default=224)
    if image % patch:
        fact = f"patches of {patch} pixels do not divide an image of {image}"
        raise SizeError(fact, where="config.json", cure=f'"image_size": {image // patch * patch}')
    return image // patch


def _classes(fields: Fields) -> int:
    return len(fields.inner("id2label").values) or fields.integer("num_labels", default=1000)


def read_swin(fields: Fields, kind: str) -> PublishedModel:
    """Returns Swin.

    Raises:
        SizeError: For stages that are not of its paper's kind.
    """
    depths = fields.integers("depths", (2, 2, 6, 2), LAYERS)
    heads = fields.integers("num_heads", (3, 6, 12, 24))
    pairs = max(depths[2] // 2, 1)
    fields.check_supported("depths", [2, 2, 2 * pairs, 2])
    fields.check_supported("num_heads", [heads[0] * 2**i for i in range(4)])
    w, s = fields.integer("window_size", default=7), fields.integer("patch_size", default=4)
    fields.check_consistent("image_size", 8 * w * s)
    usual = {"mlp_ratio": 4, "layer_norm_eps": 1e-5, "hidden_act": "gelu", "num_channels": 3}
    for name, value in {**usual, "qkv_bias": True, "use_absolute_embeddings": False}.items():
        fields.check_supported(name, value)
    width = fields.integer("embed_dim", default=96)
    sizes = {
        **{"n": pairs, "w": w, "s": s, "h": heads[0]},
        **{"k": fields.heads(width, heads[0]), "y": _classes(fields)},
    }
    return PublishedModel(
        "Swin", "Liu et al. 2021, Swin", sizes, swin, False, meanings=SWIN, small_sizes=SMALL_SIZES
    )


def read_convnext(fields: Fields, kind: str) -> PublishedModel:
    """Returns ConvNeXt, or its second version.

    Raises:
        SizeError: For stages that are not of its paper's kind.
    """
    depths = fields.integers("depths", (3, 3, 9, 3), LAYERS)
    widths = fields.integers("hidden_sizes", (96, 192, 384, 768))
    fields.check_supported("depths", [depths[0], depths[0], depths[2], depths[0]])
    fields.check_supported("hidden_sizes", [widths[0] * 2**i for i in range(4)])
    fields.check_supported("patch_size", 4)
    fields.check_supported("num_channels", 3)
    sizes = {
        **{"n": depths[0], "N": depths[2], "c": widths[0], "r": 3},
        **{"x": fields.integer("image_size", default=224), "y": _classes(fields)},
    }
    newer = kind == "convnextv2"
    system = partial(
        convnext,
        shared=newer,
        eps=fields.number("layer_norm_eps", default=1e-12),
        activation=activation(fields, "hidden_act", default="gelu"),
    )
    title = "ConvNeXt V2" if newer else "ConvNeXt"
    source = "Woo et al. 2023, ConvNeXt V2" if newer else "Liu et al. 2022, ConvNeXt"
    return PublishedModel(
        title,
        source,
        sizes,
        system,
        rotary=False,
        meanings=CONVNEXT,
        small_sizes={**SMALL_SIZES, "x": 64},
        multiples={"x": 32},
    )


def read_clip(fields: Fields, kind: str) -> PublishedModel:
    """Returns CLIP: both sides, and the similarities of their points.

    Raises:
        SizeError: For sizes that do not meet.
    """
    sees, reads = fields.inner("vision_config"), fields.inner("text_config")
    (m, h), (e, g) = _width(sees, 768, 12), _width(reads, 512, 8)
    k, r, patch = sees.heads(m, h), reads.heads(e, g), sees.integer("patch_size", default=32)
    sizes = {
        **{"i": 2, "j": 2, "n": sees.integer("num_hidden_layers", default=12, most=LAYERS)},
        "l": reads.integer("num_hidden_layers", default=12, most=LAYERS),
        **{"x": _patches(sees, patch), "p": patch, "h": h},
        "s": reads.integer("max_position_embeddings", default=77),
        **{"g": g, "k": k, "v": reads.integer("vocab_size", default=49408)},
        "z": fields.integer("projection_dim", default=512),
        **({"r": r} if r != k else {}),
    }
    function = activation(sees, "hidden_act", default="quick_gelu")
    system = partial(clip, activation=function)
    return PublishedModel("CLIP", "Radford et al. 2021, CLIP", sizes, system, False, meanings=CLIP)


def _width(side: Fields, features: int, heads: int) -> tuple[int, int]:
    """Returns the features of a position and the heads of one side of CLIP."""
    m = side.integer("hidden_size", default=features)
    side.check_consistent("intermediate_size", 4 * m)
    return m, side.integer("num_attention_heads", default=heads)


def read_clip_pictures(fields: Fields, kind: str) -> PublishedModel:
    """Returns the side of CLIP that reads pictures, with its map to points if it has one."""
    m, h = _width(fields, 768, 12)
    patch, pointed = fields.integer("patch_size", default=32), _has_projection(fields)
    sizes = {
        **{"i": 2, "n": fields.integer("num_hidden_layers", default=12, most=LAYERS)},
        **{"x": _patches(fields, patch), "p": patch, "h": h, "k": fields.heads(m, h)},
        **({"z": fields.integer("projection_dim", default=512)} if pointed else {}),
    }
    system = partial(
        clip_pictures, activation=activation(fields, "hidden_act", default="quick_gelu")
    )
    meanings = {**CLIP, "n": "layers", "h": "heads", "k": "features of a head"}
    source = "Radford et al. 2021, CLIP"
    return PublishedModel("CLIP, pictures", source, sizes, system, False, meanings=meanings)


def read_clip_sentences(fields: Fields, kind: str) -> PublishedModel:
    """Returns the side of CLIP that reads sentences, with its map to points if it has one."""
    e, g = _width(fields, 512, 8)
    pointed = _has_projection(fields)
    sizes = {
        **{"j": 2, "l": fields.integer("num_hidden_layers", default=12, most=LAYERS)},
        **{"s": fields.integer("max_position_embeddings", default=77), "g": g},
        **{"k": fields.heads(e, g), "v": fields.integer("vocab_size", default=49408)},
        **({"z": fields.integer("projection_dim", default=512)} if pointed else {}),
    }
    system = partial(
        clip_sentences, activation=activation(fields, "hidden_act", default="quick_gelu")
    )
    meanings = {**CLIP, "l": "layers", "g": "heads", "k": "features of a head"}
    source = "Radford et al. 2021, CLIP"
    return PublishedModel("CLIP, sentences", source, sizes, system, False, meanings=meanings)


def _has_projection(fields: Fields) -> bool:
    """Returns whether a side of CLIP ends with its map to points."""
    return "WithProjection" in str(fields.get("architectures"))


def read_dinov2(fields: Fields, kind: str) -> PublishedModel:
    """Returns DINOv2, which gives a vector for each patch.

    Raises:
        SizeError: For the gated feed-forward of its largest model.
    """
    m, h = (
        fields.integer("hidden_size", default=768),
        fields.integer("num_attention_heads", default=12),
    )
    patch = fields.integer("patch_size", default=14)
    fields.check_supported("use_swiglu_ffn", False)
    fields.check_supported("qkv_bias", True)
    sizes = {
        "n": fields.integer("num_hidden_layers", default=12, most=LAYERS),
        **{"x": _patches(fields, patch), "s": patch},
        "c": fields.integer("num_channels", default=3),
        **{"h": h, "k": fields.heads(m, h), "d": m * fields.integer("mlp_ratio", default=4)},
    }
    system = partial(
        vision_transformer,
        eps=fields.number("layer_norm_eps", default=1e-6),
        activation=activation(fields, "hidden_act", default="gelu"),
        heads=(),
        scaled=True,
    )
    note = f"The mask token, {m:,} numbers that its training alone uses, is left out."
    source = "Oquab et al. 2023, DINOv2"
    return PublishedModel(
        "DINOv2", source, sizes, system, rotary=False, meanings=VIT, notes=(note,)
    )


SIDES = {"siglip_vision_model": "vision", "siglip_text_model": "text"}
SIGLIP = {**CLIP, "d": "hidden features, of pictures", "f": "hidden features, of sentences"}


def read_siglip(fields: Fields, kind: str) -> PublishedModel:
    """Returns SigLIP, or one of its sides.

    Raises:
        SizeError: For sizes that do not meet, and for norms with another number than 1e-6.
    """
    side = SIDES.get(kind, "")
    sees = fields if side else fields.inner("vision_config")
    reads = fields if side else fields.inner("text_config")
    sizes: dict[str, int] = {}
    if side != "text":
        m, h = (
            sees.integer("hidden_size", default=768),
            sees.integer("num_attention_heads", default=12),
        )
        patch = sees.integer("patch_size", default=16)
        sizes |= {"i": 2, "n": sees.integer("num_hidden_layers", default=12, most=LAYERS)}
        sizes |= {"x": _patches(sees, patch), "p": patch, "h": h, "k": sees.heads(m, h)}
        sizes |= {"d": sees.integer("intermediate_size", default=3072)}
    if side != "vision":
        sizes |= _sentence_sizes(reads)
    if side == "text":
        m = reads.integer("projection_size", default=sizes["g"] * sizes["r"])
        sizes |= {"h": 1, "k": m}  # as many numbers as a picture's point has
    elif not side:
        reads.check_consistent("projection_size", m)
    for each in (sees, reads):
        each.check_supported("layer_norm_eps", 1e-6)
        each.check_supported("vision_use_head", True)
    function = activation(sees, "hidden_act", default="gelu_pytorch_tanh")
    system = partial(siglip, activation=function, side=side)
    title = {"": "SigLIP", "vision": "SigLIP, pictures", "text": "SigLIP, sentences"}[side]
    source = "Zhai et al. 2023, SigLIP"
    return PublishedModel(title, source, sizes, system, rotary=False, meanings=SIGLIP)


def _sentence_sizes(reads: Fields) -> dict[str, int]:
    """Returns the sizes of the side of SigLIP that reads sentences."""
    e, g = (
        reads.integer("hidden_size", default=768),
        reads.integer("num_attention_heads", default=12),
    )
    return {
        **{"j": 2, "l": reads.integer("num_hidden_layers", default=12, most=LAYERS)},
        **{"s": reads.integer("max_position_embeddings", default=64), "g": g},
        **{"r": reads.heads(e, g), "f": reads.integer("intermediate_size", default=3072)},
        "v": reads.integer("vocab_size", default=32000),
    }


VISION: Mapping[str, Callable[[Fields, str], PublishedModel]] = {
    "vit": read_vit,
    "deit": read_vit,
    "swin": read_swin,
    "convnext": read_convnext,
    "convnextv2": read_convnext,
    "clip": read_clip,
    "clip_vision_model": read_clip_pictures,
    "clip_text_model": read_clip_sentences,
    "dinov2": read_dinov2,
    **dict.fromkeys(("siglip", *SIDES), read_siglip),
}
