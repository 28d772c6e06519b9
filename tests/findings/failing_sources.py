"""Sources that fail in each of the usual ways, with what is to be said and the first cure.

Each is a name, the source, the line, the layer, a phrase of the sentence, and a line of the source
after the first cure.
"""

# ruff: noqa: E501

from __future__ import annotations

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"


def net(init: str, forward: str, call: str) -> str:
    """Returns a source whose class begins in line 4, its ``__init__`` with line 7."""
    body = "\n".join(f"        {line}" for line in init.split("\n"))
    lines = "\n".join(f"        {line}" for line in forward.split("\n"))
    return (
        f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n{body}\n"
        f"    def forward(self, x):\n{lines}\n{call}"
    )


CALL = "Net()(torch.randn({}))"
CASES: tuple[tuple[str, str, int, str, str, str], ...] = (
    (
        "linear after a view",
        net(
            "self.c = nn.Conv2d(3, 8, 3)\nself.f = nn.Linear(8 * 32 * 32, 10)",
            "x = self.c(x)\nreturn self.f(x.view(x.size(0), -1))",
            CALL.format("4, 3, 32, 32"),
        ),
        8,
        "f",
        "gets 7200 features: 8 channels · 30 · 30, flattened by `x.view(x.size(0), -1)` on line 11; "
        "it takes 8192",
        "self.f = nn.Linear(8 * 30 * 30, 10)",
    ),
    (
        "linear that follows a linear",
        net(
            "self.a = nn.Linear(16, 32)\nself.b = nn.Linear(64, 4)",
            "return self.b(self.a(x).relu())",
            CALL.format("5, 16"),
        ),
        8,
        "b",
        "gets 32 features (out_features, line 7); it takes 64 (in_features, line 8)",
        "self.b = nn.Linear(32, 4)",
    ),
    (
        "channels of a second convolution",
        net(
            "self.a = nn.Conv2d(3, 16, 3)\nself.b = nn.Conv2d(32, 8, 3)",
            "return self.b(self.a(x))",
            CALL.format("1, 3, 20, 20"),
        ),
        8,
        "b",
        "gets 16 channels (out_channels, line 7): batch 1, channels 16, height 18, width 18; "
        "it takes 32 (in_channels, line 8)",
        "self.b = nn.Conv2d(16, 8, 3)",
    ),
    (
        "groups of a convolution",
        "nn.Conv2d(8, 12, 3, groups=5)(torch.randn(1, 8, 9, 9))",
        1,
        "",
        "8 (in_channels, line 1) is not divisible by 5 (groups, line 1)",
        "nn.Conv2d(8, 12, 3, groups=4)(torch.randn(1, 8, 9, 9))",
    ),
    (
        "heads that do not divide",
        "nn.MultiheadAttention(65, 4)(torch.randn(5, 2, 65), torch.randn(5, 2, 65), torch.randn(5, 2, 65))",
        1,
        "",
        "",
        "nn.MultiheadAttention(65, 5)(torch.randn(5, 2, 65), torch.randn(5, 2, 65), torch.randn(5, 2, 65))",
    ),
    (
        "groups of a group norm",
        "nn.GroupNorm(4, 6)(torch.randn(2, 6, 5))",
        1,
        "",
        "6 (num_channels, line 1) is not divisible by 4 (num_groups, line 1)",
        "nn.GroupNorm(3, 6)(torch.randn(2, 6, 5))",
    ),
    (
        "kernel larger than its input",
        "nn.Conv2d(3, 4, 7)(torch.randn(1, 3, 5, 9))",
        1,
        "",
        "has a kernel of 7 × 7, but its input is only 5 × 9",
        "nn.Conv2d(3, 4, 7)(torch.randn(1, 3, 7, 9))",
    ),
    (
        "pooling to nothing",
        net(
            "self.p = nn.MaxPool2d(4)",
            "return self.p(self.p(x))",
            CALL.format("1, 2, 12, 16"),
        ),
        7,
        "p",
        "has a kernel of 4 × 4, but its input is only 3 × 4 (height: 12 → 3)",
        "Net()(torch.randn(1, 2, 16, 16))",
    ),
    (
        "view of another count",
        net("self.d = 5", "return x.view(x.size(0), 4, 7)", CALL.format("2, 30")),
        9,
        "",
        "2 × 30 has 60 numbers, but batch 2 · 4 · 7 = 56 are asked for",
        "Net()(torch.randn(2, 28))",
    ),
    (
        "view of moved axes",
        net("self.d = 5", "return x.transpose(1, 2).view(2, 12)", CALL.format("2, 3, 4")),
        9,
        "",
        "does not lie in memory as a view needs it",
        "return x.transpose(1, 2).reshape(2, 12)",
    ),
    (
        "cat of two lengths",
        net(
            "self.a = nn.Conv1d(2, 3, 3)",
            "return torch.cat([x, self.a(x)], 1)",
            CALL.format("1, 2, 10"),
        ),
        9,
        "",
        "1 × 2 × 10 and 1 × 3 × 8 must be equal in all axes but axis 1; axis 2 has",
        "self.a = nn.Conv1d(2, 3, 3, padding=1)",
    ),
    (
        "stack of two shapes",
        "torch.stack([torch.randn(2, 3), torch.randn(2, 4)])",
        1,
        "",
        "2 × 3 and 2 × 4 must be equal in all axes; axis 1 has",
        "torch.stack([torch.randn(2, 3), torch.randn(2, 3)])",
    ),
)
