"""What the counts in the first sentences of the pages claim, computed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.systems.lessons.facts import Claim, Facts

COUNT = re.compile(r"\b(two|three|four|five|six|seven|eight|nine|ten|twelve)\b", re.IGNORECASE)


def has(label: str, count: int) -> Claim:
    """The claim that a system has so many ops of a label."""
    return lambda f: len(f.ops(label)) == count


def blocks(f: Facts, title: str) -> int:
    return sum(fence.title.startswith(title) for fence in f.circuit.fences)


LEADS: Mapping[str, Mapping[str, Claim]] = {
    "pointwise-feed-forward": {
        "The same two maps": lambda f: len(f.ops("Conv")) == len(f.at(conv=0).ops("Linear")) == 2,
    },
    "rotary": {"how far apart two tokens are": lambda f: f.ins("scores") == ["y h k", "x h k"]},
    "lora": {
        "beside it two thin maps learn, and afterwards all three are one map again": lambda f: (
            f.size("r") < min(f.size("m"), f.size("d"))
            and len(f.ops("Linear")) == 3
            and f.ins("A") == f.ins("W")
            and f.outs("B") == f.outs("W")
        ),
    },
    "swiglu": {"two maps side by side": lambda f: f.ins("W") == f.ins("V")},
    "t5": {"the score of two words": lambda f: bool(f.ops("distance"))},
    "llama": {
        "four changes since GPT-2: simpler norms, positions that turn, heads that share keys, and "
        "a gate": lambda f: all(map(f.ops, ("RMSNorm", "turn", "gate_proj"))) and f.size("q") > 1,
    },
    "mixtral": {
        "Eight feed-forwards stand ready in every layer, and each word is sent to two": lambda f: (
            (f.size("e"), f.size("c")) == (8, 2)
        ),
    },
    "depthwise-separable": {"two things at once": has("Conv", 2)},
    "image-recogniser": {"three learned maps": has("Linear", 3)},
    "lenet": {
        "Two convolutions": has("Conv", 2),
        "one line of einops passes what they found to two linear maps": lambda f: (
            len(f.ops("Group")) == 1 and len(f.ops("Linear")) == 2
        ),
    },
    "residual-block": {"two paths at once, through three convolutions": has("Conv", 3 + 1)},
    "identity-resnet": {"three blocks of residual components": lambda f: blocks(f, "Block ") == 3},
    "convnext": {
        "two maps that mix channels": lambda f: (
            len(f.ops("dwconv")) == len(f.ops("pwconv1")) == len(f.ops("pwconv2")) > 0
        ),
    },
    "gru": {
        "One state and two gates": lambda f: len(f.ops("update")) == len(f.ops("reset")) == 1,
    },
    "proofreader": {"Four heads": lambda f: f.size("h") == 4},
    "tensors": {"two wires side by side are a table": lambda f: f.ins("f")[0] == "b c"},
    "subtensors": {"has two indexes": lambda f: f.ins("Index")[0] == "a b"},
    "einsum-attention": {
        "four small steps, or in one line": lambda f: (
            [len(f.ops(label)) for label in ("Einsum", "Inner", "Scale")] == [2 + 1, 1, 1 + 1]
        ),
    },
    "linear-algebra": {"Seven steps": lambda f: f.entry.knobs[0].max == 7},
    "batch-norm": {"Two norms of one array": lambda f: f.ins("batch") == f.ins("layer")},
    "matrix-product": {"A product of two matrices": lambda f: len(f.ins("product")) == 2},
    "fused-mlp": {"between two linear maps": has("Linear", 2)},
}
