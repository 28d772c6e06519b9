"""Networks on pictures: their published numbers of parameters, and published code beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.systems.catalogue_entry import Entry
from ncd.systems.images.published_resnet import SIZES
from ncd.systems.images.vgg import SIZES as SIZES_OF_VGG

# What the published weights hold: torchvision for VGG, ResNet, EfficientNet and the first models of
# ConvNeXt and Swin, timm for the others, and the published implementations of CLIP, DiT and DDPM.
PARAMETERS: Mapping[str, Mapping[str, int]] = {
    "vgg": {
        "vgg-11": 132_863_336,
        "vgg-13": 133_047_848,
        "vgg-16": 138_357_544,
        "vgg-19": 143_667_240,
    },
    "resnet": {
        "resnet-18": 11_689_512,
        "resnet-34": 21_797_672,
        "resnet-50": 25_557_032,
        "resnet-101": 44_549_160,
        "resnet-152": 60_192_808,
    },
    "efficientnet": {
        "efficientnet-b0": 5_288_548,
        "efficientnet-b1": 7_794_184,
        "efficientnet-b2": 9_109_994,
        "efficientnet-b3": 12_233_232,
        "efficientnet-b4": 19_341_616,
        "efficientnet-b5": 30_389_784,
        "efficientnet-b6": 43_040_704,
        "efficientnet-b7": 66_347_960,
    },
    "convnext": {
        "convnext-t": 28_589_128,
        "convnext-s": 50_223_688,
        "convnext-b": 88_591_464,
        "convnext-l": 197_767_336,
        "convnext-xl": 350_196_968,
    },
    "swin": {
        "swin-t": 28_288_354,
        "swin-s": 49_606_258,
        "swin-b": 87_768_224,
        "swin-b-384": 87_903_584,
        "swin-l-384": 196_735_516,
    },
    "dit": {
        "dit-s-2": 32_963_360,
        "dit-b-2": 130_512_416,
        "dit-l-2": 458_102_816,
        "dit-xl-2": 675_129_632,
        "dit-xl-8": 675_683_072,
    },
    "diffusion-unet": {"ddpm-cifar10": 35_746_307},
    # Kingma and Welling publish no number: one hidden layer of 500 on each side, and biases.
    "vae": {
        f"mnist-{k}": (784 + 1) * 500 + 2 * (500 + 1) * k + (k + 1) * 500 + (500 + 1) * 784
        for k in (2, 3, 5, 10, 20, 200)
    },
}
PRESETS = [(ncd.catalogue[name], preset) for name in PARAMETERS for preset in PARAMETERS[name]]


@pytest.mark.parametrize(("entry", "preset"), PRESETS, ids=lambda part: getattr(part, "name", part))
def test_a_published_model_has_its_published_parameters(entry: Entry, preset: str) -> None:
    cost = ncd.cost(entry.build(**entry.preset(preset).knobs))
    assert cost.parameters == PARAMETERS[entry.name][preset]


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_published_size_is_counted(name: str) -> None:
    assert [*PARAMETERS[name]] == [preset.name for preset in ncd.catalogue[name].presets]


def same(
    entry: Entry,
    sizes: Mapping[str, int],
    theirs: nn.Module,
    named: Callable[[str], str],
    outputs: Callable[..., tuple[Tensor, ...]],
    inputs: tuple[Tensor, ...] = (),
) -> None:
    """Compares outputs and all gradients, in 64 bits, on weights that are copied.

    Args:
        entry: Our system.
        sizes: Its sizes.
        theirs: The published code, with weights from a seed.
        named: Our name of each of its weights.
        outputs: Its outputs for our inputs.
        inputs: The inputs, by default drawn at random.
    """
    ours: nn.Module = ncd.compile(entry.build(**sizes), seed=1).double()
    theirs, own = theirs.double().eval(), dict(ours.named_parameters())
    pairs = {named(key): weight for key, weight in theirs.named_parameters()}
    assert sorted(pairs) == sorted(own)
    with torch.no_grad():
        for key, weight in pairs.items():
            weight += torch.randn_like(weight) / 9
            own[key].copy_(weight.reshape(own[key].shape))
    given = [
        x.double() if x.is_floating_point() else x
        for x in inputs or ncd.example_inputs(ours.term, 2)
    ]
    for x in given:
        x.requires_grad_(x.is_floating_point())
    made = ours(*given)
    made, wanted = made if isinstance(made, tuple) else (made,), outputs(*given)
    for one, two in zip(made, wanted, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-6, atol=1e-8)
    slopes = [
        torch.autograd.grad(sum(x.square().sum() for x in found), [*weights], allow_unused=True)
        for found, weights in (
            (made, (*own.values(), *(x for x in given if x.requires_grad))),
            (wanted, (*(pairs[key] for key in own), *(x for x in given if x.requires_grad))),
        )
    ]
    for one, two in zip(*slopes, strict=True):
        torch.testing.assert_close(one, two.reshape(one.shape), rtol=1e-5, atol=1e-8)


def renamed(*rules: tuple[str, str]) -> Callable[[str], str]:
    """Returns a function that applies replacements of regular expressions in turn."""

    def named(key: str) -> str:
        for old, new in rules:
            key = re.sub(old, new, key)
        return key

    return named


def stage(found: re.Match[str]) -> str:
    return f"stage_{int(found[1]) + 1}."


def vgg_of_torch(columns: str, n: int, m: int, x: int, y: int) -> nn.Sequential:
    """The layers of a column of the paper's table, with a space for each pooling."""
    layers: list[nn.Module] = []
    channels, wide = 3, n
    for column in columns.split():
        for _ in column:
            layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.ReLU()]
            channels = wide
        layers.append(nn.MaxPool2d(2, 2))
        wide = min(2 * wide, 8 * n)
    features = 8 * n * (x // 32) ** 2
    dense = [nn.Linear(features, m), nn.ReLU(), nn.Linear(m, m), nn.ReLU(), nn.Linear(m, y)]
    return nn.Sequential(*layers, nn.Flatten(0), *dense)


VGG_COLUMNS = ("c c cc cc cc", "cc cc cc cc cc", "cc cc ccc ccc ccc", "cc cc cccc cccc cccc")


@pytest.mark.parametrize("depth", range(4))
def test_vgg_is_that_of_torch(depth: int) -> None:
    torch.manual_seed(0)
    sizes = {"n": 2, "m": 16, "x": 64, "y": 5}
    theirs = vgg_of_torch(VGG_COLUMNS[depth], **sizes)
    entry = ncd.catalogue["vgg"]
    keys = [key for key, _ in theirs.named_parameters()]
    ours = [key for key, _ in ncd.compile(entry.build(depth=depth, **sizes)).named_parameters()]
    assert len(ours) == 2 * int(SIZES_OF_VGG[depth].name)
    named = dict(zip(keys, ours, strict=True))
    same(entry, {"depth": depth, **sizes}, theirs, named.__getitem__, lambda x: (theirs(x),))


def test_the_table_of_vgg_is_that_of_torch() -> None:
    """On no memory: 138 million parameters at their published sizes."""
    with torch.device("meta"):
        models = [vgg_of_torch(column, 64, 4096, 224, 1000) for column in VGG_COLUMNS]
    counts = [sum(weight.numel() for weight in model.parameters()) for model in models]
    assert counts == [*PARAMETERS["vgg"].values()]


@pytest.mark.parametrize("depth", [0, 2], ids=["basic", "bottleneck"])
def test_resnet_is_that_of_transformers(depth: int) -> None:
    """As it learns: batch norms normalise by the batch."""
    from transformers import ResNetConfig, ResNetForImageClassification

    torch.manual_seed(0)
    size = SIZES[depth]
    wider = 4 if size.narrows else 1
    config = ResNetConfig(
        embedding_size=4, hidden_sizes=[4 * wider * 2**i for i in range(4)],
        depths=[*size.blocks], layer_type="bottleneck" if size.narrows else "basic", num_labels=5,
    )  # fmt: skip
    theirs = ResNetForImageClassification(config)

    def block(found: re.Match[str]) -> str:
        stage, n = int(found[1]), int(found[2])
        alike = stage == 0 and not size.narrows  # whose first block is as the others
        n = n if alike else n - 1
        return f"layer{stage + 1}." + (f"blocks.{n}." if n >= 0 else "")

    rules = renamed(
        (r"^resnet\.embedder\.embedder\.convolution", "conv1"),
        (r"^resnet\.embedder\.embedder\.normalization", "bn1"),
        (r"^resnet\.encoder\.stages\.", "stages."),
        (r"shortcut\.convolution", "downsample"),
        (r"shortcut\.normalization", "downsample_bn"),
        (r"^classifier\.1", "fc"),
    )

    def named(key: str) -> str:
        key = re.sub(r"^stages\.(\d)\.layers\.(\d+)\.", block, rules(key))
        key = re.sub(r"layer\.(\d)\.convolution", lambda n: f"conv{int(n[1]) + 1}", key)
        return re.sub(r"layer\.(\d)\.normalization", lambda n: f"bn{int(n[1]) + 1}", key)

    def outputs(x: Tensor) -> tuple[Tensor, ...]:
        return (theirs.train()(x)[0],)

    sizes = {"depth": depth, "n": 4, "x": 64, "b": 2, "y": 5}
    same(ncd.catalogue["resnet"], sizes, theirs, named, outputs)


class MBConvOfTorch(nn.Module):
    """A block of the paper: expand, look around, weight the channels, project, and a shortcut."""

    def __init__(
        self, old: int, new: int, kernel: int, stride: int, expands: int, se: bool
    ) -> None:
        super().__init__()
        wide = 6 * old if expands else old

        def normed(*args: int, **options: int) -> tuple[nn.Module, nn.Module]:
            conv = nn.Conv2d(*args, bias=False, **options)
            return conv, nn.BatchNorm2d(conv.out_channels)

        layers: list[nn.Module] = [*normed(old, wide, 1), nn.SiLU()] if expands else []
        layers += [*normed(wide, wide, kernel, stride, kernel // 2, groups=wide), nn.SiLU()]
        self.inside = nn.Sequential(*layers)
        narrow = max(1, old // 4)
        gate = (nn.Conv2d(wide, narrow, 1), nn.SiLU(), nn.Conv2d(narrow, wide, 1), nn.Sigmoid())
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), *gate) if se else None
        self.project = nn.Sequential(*normed(wide, new, 1))
        self.adds = stride == 1 and old == new

    def forward(self, x: Tensor) -> Tensor:
        z = self.inside(x)
        z = self.project(z if self.gate is None else self.gate(z) * z)
        return x + z if self.adds else z


B0 = ((3, 1, 1), (3, 2, 2), (5, 2, 2), (3, 2, 3), (5, 1, 3), (5, 2, 4), (3, 1, 1))  # table 1


def efficientnet_of_torch(widths: tuple[int, ...], depth: float, se: bool, y: int) -> nn.Sequential:
    """Table 1 of the paper, for channels of the stem and the stages; ``depth`` is times blocks."""

    def ends(old: int, new: int, *args: int) -> tuple[nn.Module, ...]:
        return nn.Conv2d(old, new, *args, bias=False), nn.BatchNorm2d(new), nn.SiLU()

    layers: list[nn.Module] = [*ends(3, widths[0], 3, 2, 1)]
    for i, (kernel, stride, blocks) in enumerate(B0):
        old, new = widths[i : i + 2]
        for n in range(math.ceil(depth * blocks)):
            own = (old, stride) if n == 0 else (new, 1)
            layers.append(MBConvOfTorch(own[0], new, kernel, own[1], i, se))
    last = 4 * widths[-1]
    layers += [*ends(widths[-1], last, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(last, y))


QUARTER_OF_B0 = (8, 4, 6, 10, 20, 28, 48, 80)
EFFICIENTNETS = {  # channels worked out by hand: a quarter or an eighth of those published
    "B0": ({}, QUARTER_OF_B0, 1.0),
    "B2, without gates": ({"size": 2, "squeeze": 0}, (8, 4, 6, 12, 22, 30, 52, 88), 1.2),
    "an eighth of B0, on odd sides": ({"n": 4, "x": 40}, (4, 2, 3, 5, 10, 14, 24, 40), 1.0),
}


@pytest.mark.parametrize("case", EFFICIENTNETS)
def test_efficientnet_is_that_of_torch(case: str) -> None:
    """As it learns: batch norms normalise by the batch."""
    torch.manual_seed(0)
    knobs, widths, depth = EFFICIENTNETS[case]
    sizes = {"n": 8, "x": 64, "b": 2, "y": 5, "squeeze": 1, **knobs}
    theirs = efficientnet_of_torch(widths, depth, bool(sizes["squeeze"]), sizes["y"])
    entry = ncd.catalogue["efficientnet"]
    ours = [key for key, _ in ncd.compile(entry.build(**sizes)).named_parameters()]
    keys = [key for key, _ in theirs.named_parameters()]
    named = dict(zip(keys, ours, strict=True))
    same(entry, sizes, theirs, named.__getitem__, lambda x: (theirs.train()(x),))


@pytest.mark.parametrize("i", range(8))
def test_efficientnet_has_the_parameters_of_transformers(i: int) -> None:
    """On no memory: its own rounding of channels and blocks, at the multipliers of the authors."""
    from transformers import EfficientNetConfig, EfficientNetForImageClassification

    width = (1.0, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8, 2.0)[i]
    depth = (1.0, 1.1, 1.2, 1.4, 1.8, 2.2, 2.6, 3.1)[i]
    config = EfficientNetConfig(
        width_coefficient=width, depth_coefficient=depth, num_labels=1000,
        hidden_dim=4 * round(320 * width),
    )  # fmt: skip
    with torch.device("meta"):
        model = EfficientNetForImageClassification(config)
    count = sum(weight.numel() for weight in model.parameters())
    assert count == PARAMETERS["efficientnet"][f"efficientnet-b{i}"]


def test_convnext_is_that_of_transformers() -> None:
    from transformers import ConvNextConfig, ConvNextForImageClassification

    torch.manual_seed(0)
    widths, depths = [4, 8, 16, 32], [1, 1, 2, 1]
    config = ConvNextConfig(hidden_sizes=widths, depths=depths, num_labels=5, image_size=32)
    theirs = ConvNextForImageClassification(config)
    rules = renamed(
        (r"^convnext\.embeddings\.layernorm", "norm"),
        (r"^convnext\.(embeddings\.|encoder\.)?", ""),
        (r"downsampling_layer\.0", "norm"),
        (r"downsampling_layer\.1", "downsample"),
        (r"layer_scale_parameter", "layer_scale"),
        (r"^stages\.0\.layers\.", "stage_1."),
    )

    def named(key: str) -> str:
        return re.sub(r"^stages\.(\d)\.", stage, rules(key))

    sizes = {"n": 1, "N": 2, "c": 4, "r": 3, "x": 32, "y": 5}
    same(ncd.catalogue["convnext"], sizes, theirs, named, lambda x: (theirs(x[None])[0][0],))


def test_swin_is_that_of_transformers() -> None:
    from transformers import SwinConfig, SwinForImageClassification

    torch.manual_seed(0)
    config = SwinConfig(
        image_size=32, patch_size=2, embed_dim=8, depths=[2, 2, 4, 2], num_heads=[2, 4, 8, 16],
        window_size=2, num_labels=5,
    )  # fmt: skip
    theirs = SwinForImageClassification(config)

    def block(found: re.Match[str]) -> str:
        layer, n = int(found[1]) + 1, int(found[2])
        pair = f"layers.{n // 2}." if layer == 3 else ""
        return f"stage_{layer}.{pair}{('first', 'second')[n % 2]}."

    rules = renamed(
        (r"^swin\.embeddings\.patch_embeddings\.projection", "patch"),
        (r"^swin\.(embeddings\.|encoder\.)?", ""),
        (r"attention\.relative_position_bias\.relative_position_bias_table", "bias"),
        (r"(attention|mlp)\.", ""),
        (r"([qkv])_proj", r"\1"),
        (r"o_proj", "out"),
        (r"downsample", "merge"),
    )

    def named(key: str) -> str:
        key = re.sub(r"^layers\.(\d)\.blocks\.(\d)\.", block, rules(key))
        return re.sub(r"^layers\.(\d)\.", stage, key)

    sizes = {"n": 2, "w": 2, "s": 2, "h": 2, "k": 4, "y": 5}
    same(ncd.catalogue["swin"], sizes, theirs, named, lambda x: (theirs(x[None])[0][0],))


def test_clip_is_that_of_transformers() -> None:
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(0)
    small = {"num_hidden_layers": 2, "num_attention_heads": 2}
    vision = {"hidden_size": 8, "intermediate_size": 32, "image_size": 8, "patch_size": 4}
    text = {"hidden_size": 12, "intermediate_size": 48, "vocab_size": 20, "eos_token_id": 19}
    config = CLIPConfig(
        text_config={**small, **text, "max_position_embeddings": 5, "num_attention_heads": 3},
        vision_config={**small, **vision},
        projection_dim=6,
    )
    theirs = CLIPModel(config)
    named = renamed(
        (r"^vision_model\.", "vision."),
        (r"^text_model\.", "text."),
        (r"^visual_projection", "vision.visual_projection"),
        (r"^text_projection", "text.text_projection"),
        (r"(embeddings|encoder|mlp)\.", ""),
        (r"([qkv])_proj", r"\1"),
        (r"out_proj", "out"),
        (r"(token|position)_embedding\.weight", r"\1_embedding"),
    )
    sizes = {"i": 3, "j": 2, "n": 2, "l": 2, "x": 2, "p": 4, "h": 2, "s": 5, "g": 3, "k": 4}

    pictures, words = torch.randn(3, 3, 8, 8), torch.randint(19, (2, 5))
    words[:, -1] = 19  # the end, where a sentence is read

    def outputs(pictures: Tensor, words: Tensor) -> tuple[Tensor, ...]:
        return (theirs(input_ids=words, pixel_values=pictures).logits_per_image,)

    entry = ncd.catalogue["clip"]
    same(entry, {**sizes, "v": 20, "z": 6}, theirs, named, outputs, (pictures, words))


Weights = Mapping[str, Tensor]


def by_formula(
    name: str, sizes: Mapping[str, int], reference: Callable[..., tuple[Tensor, ...]]
) -> None:
    """Compares outputs and gradients with formulas of the paper, on our own weights."""
    entry = ncd.catalogue[name]
    module: nn.Module = ncd.compile(entry.build(**sizes), seed=1).double()
    own = dict(module.named_parameters())
    given = [x.double() if x.is_floating_point() else x for x in ncd.example_inputs(module.term, 2)]
    made, wanted = module(*given), reference(own, entry.settings(sizes), *given)
    made = made if isinstance(made, tuple) else (made,)
    for one, two in zip(made, wanted, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-7, atol=1e-9)
    slopes = [
        torch.autograd.grad(sum(x.square().sum() for x in found), [*own.values()])
        for found in (made, wanted)
    ]
    for one, two in zip(*slopes, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-8)


def linear(w: Weights, name: str, x: Tensor) -> Tensor:
    weight, bias = w[f"{name}.weight"], w.get(f"{name}.bias")
    return F.linear(x, weight.reshape(-1, x.shape[-1]), None if bias is None else bias.flatten())


def vae(w: Weights, sizes: Mapping[str, int], x: Tensor, noise: Tensor) -> tuple[Tensor, ...]:
    hidden = linear(w, "encode", x.flatten()).tanh()
    mean, spread = linear(w, "mean", hidden), linear(w, "log_variance", hidden)
    point = mean + spread.exp().sqrt() * noise
    again = linear(w, "pixels", linear(w, "decode", point).tanh()).sigmoid()
    return again.reshape(x.shape), mean, spread


def dit(w: Weights, sizes: Mapping[str, int], x: Tensor, t: Tensor, y: Tensor) -> tuple[Tensor]:
    side, s, h = sizes["x"], sizes["s"], sizes["h"]
    freqs = 10000 ** (-torch.arange(128).double() / 128)
    waves = torch.cat(((t * freqs).cos(), (t * freqs).sin()))
    time = linear(w, "t_embedder.t_2", F.silu(linear(w, "t_embedder.t_1", waves)))
    known = F.silu(time + w["y_embedder"][y])
    patches = F.conv2d(x[None], *_pair(w, "patches.x_embedder"), stride=s)[0].flatten(1).T
    tokens = patches + w["patches.pos_embed"]
    m = tokens.shape[1]

    def norm(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
        return F.layer_norm(x, (m,), eps=1e-6) * (1 + scale) + shift

    for n in range(sizes["n"]):
        six = linear(w, f"blocks.{n}.modulation", known).chunk(6)
        z = norm(tokens, six[0], six[1])
        q, k, v = (
            linear(w, f"blocks.{n}.attn.{name}", z).unflatten(1, (h, -1)).transpose(0, 1)
            for name in "qkv"
        )
        z = F.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1)
        tokens = tokens + six[2] * linear(w, f"blocks.{n}.attn.out", z)
        z = norm(tokens, six[3], six[4])
        z = linear(
            w, f"blocks.{n}.fc2", F.gelu(linear(w, f"blocks.{n}.fc1", z), approximate="tanh")
        )
        tokens = tokens + six[5] * z
    z = norm(tokens, *linear(w, "final_layer.modulation", known).chunk(2))
    z = linear(w, "final_layer.linear", z).reshape(side, side, s, s, -1)
    return (z.permute(4, 0, 2, 1, 3).reshape(-1, side * s, side * s),)


def _pair(w: Weights, name: str) -> tuple[Tensor, Tensor]:
    return w[f"{name}.weight"], w[f"{name}.bias"]


def ddpm(w: Weights, sizes: Mapping[str, int], x: Tensor, t: Tensor) -> tuple[Tensor]:
    """Follows the published code, which keeps a list of what the way down has seen."""
    depth, n, g, half = sizes["depth"], sizes["n"], sizes["g"], sizes["c"] // 2
    freqs = 10000 ** (-torch.arange(half).double() / (half - 1))
    waves = torch.cat(((t * freqs).sin(), (t * freqs).cos()))
    time = F.silu(linear(w, "time_2", F.silu(linear(w, "time_1", waves))))

    def conv(name: str, x: Tensor, **more: int) -> Tensor:
        weight, bias = _pair(w, name)
        more = more or {"padding": weight.shape[-1] // 2}
        return F.conv2d(x, weight, bias, **more)

    def norm(name: str, x: Tensor) -> Tensor:
        return F.group_norm(x, g, *_pair(w, name), 1e-6)

    def block(name: str, x: Tensor, attends: bool) -> Tensor:
        h = conv(f"{name}.conv_1", F.silu(norm(f"{name}.norm_1", x)))
        h = h + linear(w, f"{name}.time", time)[:, None, None]
        h = conv(f"{name}.conv_2", F.silu(norm(f"{name}.norm_2", h)))
        x = h + (conv(f"{name}.skip", x) if f"{name}.skip.weight" in w else x)
        if not attends:
            return x
        a = f"{name}.attention"
        z = norm(f"{a}.norm", x)[0].flatten(1).T
        q, k, v = (linear(w, f"{a}.{part}", z) for part in "qkv")
        z = linear(w, f"{a}.out", (q @ k.T / k.shape[1] ** 0.5).softmax(1) @ v)
        return x + z.T.reshape(x.shape)

    saved = [conv("conv_in", x[None])]
    for i in range(1, depth + 1):
        saved += [x := block(f"down_{i}_0", saved[-1], i == 2)]
        for j in range(1, n):
            saved += [x := block(f"down_{i}_{j}", x, i == 2)]
        if i < depth:
            saved.append(conv(f"smaller_{i}.conv", F.pad(x, (0, 1, 0, 1)), stride=2))
    h = block("middle_2", block("middle_1", saved[-1], True), False)
    for i in range(depth, 0, -1):
        for j in range(n + 1):
            h = block(f"up_{i}_{j}", torch.cat((h, saved.pop()), 1), i == 2)
        if i > 1:
            h = conv(f"larger_{i}.conv", F.interpolate(h, scale_factor=2.0))
    return (conv("conv_out", F.silu(norm("norm_out", h)))[0],)


@pytest.mark.parametrize(
    ("name", "sizes", "reference"),
    [
        ("vae", {"x": 5, "d": 8, "k": 3}, vae),
        ("dit", {"n": 2, "x": 3, "s": 2, "c": 2, "h": 2, "k": 4, "v": 5, "T": 50}, dit),
        ("diffusion-unet", {"depth": 3, "n": 2, "c": 4, "g": 2, "x": 8, "o": 2}, ddpm),
    ],
)
def test_outputs_and_gradients_are_those_of_the_formulas(
    name: str, sizes: Mapping[str, int], reference: Callable[..., tuple[Tensor, ...]]
) -> None:
    by_formula(name, sizes, reference)
