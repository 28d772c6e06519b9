"""Transformers of pictures with other tokens, scores and sides than their pages show."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import ncd
from ncd import SizeError
from ncd.systems.images.diffusion_models import diffusion_unet, dit
from ncd.systems.images.sigmoid_contrastive import siglip
from ncd.systems.images.vision_transformer import vision_transformer

EPS, H, K = 0.25, 2, 4
State = dict[str, Tensor]


def linear(own: State, name: str, x: Tensor) -> Tensor:
    return F.linear(x, own[f"{name}.weight"], own[f"{name}.bias"])


def norm(own: State, name: str, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], own[f"{name}.weight"], own[f"{name}.bias"], EPS)


def layer(own: State, begin: str, x: Tensor) -> Tensor:
    """Dosovitskiy et al. 2021, equations 2 and 3, with a learned factor where there is one."""
    y = norm(own, f"{begin}.layernorm_before", x)
    q, k, v = (linear(own, f"{begin}.attention.{name}", y).view(-1, H, K) for name in "qkv")
    weights = torch.einsum("yhk,xhk->hyx", q, k).div(K**0.5).softmax(-1)
    mixed = torch.einsum("hyx,xhk->yhk", weights, v).flatten(1)
    one, two = (own.get(f"{begin}.layer_scale{n}", torch.ones(1)) for n in (1, 2))
    x = x + one * linear(own, f"{begin}.attention.out", mixed)
    inner = F.gelu(linear(own, f"{begin}.intermediate", norm(own, f"{begin}.layernorm_after", x)))
    return x + two * linear(own, f"{begin}.output", inner)


@pytest.mark.parametrize(
    ("tokens", "heads", "scaled"),
    [
        (("cls",), ("a",), False),
        (("cls", "more"), ("a", "b"), True),
        (("cls", "more"), ("a",), False),
        (("cls",), (), True),
    ],
)
def test_a_vision_transformer_is_its_equations(
    tokens: tuple[str, ...], heads: tuple[str, ...], scaled: bool
) -> None:
    term = vision_transformer(
        n=2, x=2, s=3, c=2, h=H, k=K, d=12, v=5, eps=EPS, tokens=tokens, heads=heads, scaled=scaled
    )
    module, random = ncd.compile(term).double(), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=random, dtype=torch.float64))
    own = dict(module.named_parameters())
    picture = torch.randn(2, 6, 6, generator=random, dtype=torch.float64)
    patches = F.conv2d(
        picture, own["patch_embeddings.weight"], own["patch_embeddings.bias"], stride=3
    )
    x = torch.cat([*(own[name] for name in tokens), patches.flatten(1).T])
    x = x + own["position_embeddings"]
    for n in range(2):
        x = layer(own, f"layer.{n}", x)
    x = norm(own, "layernorm", x)
    if heads:
        x = torch.stack([linear(own, name, x[i]) for i, name in enumerate(heads)]).mean(0)
    torch.testing.assert_close(module(picture), x)


@pytest.mark.parametrize(
    ("side", "takes", "gives"),
    [
        ("", ["i:6 c:3 u:32x32", "j:6 ~s:6#v:64"], "i:6 j:6"),
        ("text", ["j:6 ~s:6#v:64"], "j:6 m:16"),
        ("vision", ["i:6 c:3 u:32x32"], "i:6 m:16"),
    ],
)
def test_one_side_of_a_contrastive_model_stands_alone(
    side: str, takes: list[str], gives: str
) -> None:
    term = siglip(side=side)
    assert ([array.spec for array in term.dom], term.cod.spec) == (takes, gives)


@pytest.mark.parametrize(
    ("depth", "x", "nearest"), [(3, 6, 8), (3, 9, 8), (3, 1, 4), (2, 7, 8), (4, 19, 16)]
)
def test_a_picture_that_does_not_halve_so_often_has_a_nearest_that_does(
    depth: int, x: int, nearest: int
) -> None:
    sizes = {"n": 1, "c": 4, "g": 2, "o": 1, "T": 4}
    with pytest.raises(SizeError) as caught:
        diffusion_unet(depth=depth, x=x, **sizes)
    assert str(caught.value) == (
        f"a picture of {x} × {x} cannot be halved {depth - 1} times. Try x = {nearest}."
    )
    assert caught.value.nearest == nearest
    assert diffusion_unet(depth=depth, x=nearest, **sizes).cod[0].shape == (1, nearest, nearest)


@pytest.mark.parametrize(("h", "k", "nearest"), [(1, 5, 8), (2, 3, 4), (3, 9, 12)])
def test_features_that_positions_cannot_share_have_a_nearest_that_they_can(
    h: int, k: int, nearest: int
) -> None:
    sizes = {"n": 1, "x": 2, "s": 2, "c": 1, "v": 3}
    with pytest.raises(SizeError) as caught:
        dit(h=h, k=k, **sizes)
    assert str(caught.value) == (
        f"a patch has h · k = {h * k} features, which is no multiple of 4. Try k = {nearest}."
    )
    dit(h=h, k=nearest, **sizes)
