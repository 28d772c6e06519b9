"""Further sources that fail, as in ``failing_sources``."""

# ruff: noqa: E501

from __future__ import annotations

from tests.findings.failing_sources import CALL, HEAD, net

MORE: tuple[tuple[str, str, int, str, str, str], ...] = (
    (
        "table of positions",
        net(
            "self.e = nn.Embedding(50, 8)\nself.p = nn.Embedding(16, 8)",
            "return self.e(x) + self.p(torch.arange(x.size(1)))",
            "Net()(torch.randint(0, 50, (2, 20)))",
        ),
        8,
        "p",
        "has 16 rows, 0 to 15 (num_embeddings, line 8), but is asked for row 19",
        "self.p = nn.Embedding(20, 8)",
    ),
    (
        "tokens that the table lacks",
        net("self.e = nn.Embedding(50, 8)", "return self.e(x)", "2x20#60"),
        7,
        "e",
        "has 50 rows, 0 to 49 (num_embeddings, line 7), but is asked for row 59",
        "self.e = nn.Embedding(60, 8)",
    ),
    (
        "tokens that are real",
        net("self.e = nn.Embedding(50, 8)", "return self.e(x)", CALL.format("2, 20")),
        7,
        "e",
        "takes whole numbers (rows of its table), but its array (2 × 20) holds real ones",
        "Net()(torch.randint(0, 50, (2, 20)))",
    ),
    (
        "features of a recurrent layer",
        "nn.GRU(8, 5, batch_first=True)(torch.randn(2, 7, 9))",
        1,
        "",
        "gets 9 features a step (the features of the input, line 1); it takes 8 (input_size, line 1)",
        "nn.GRU(9, 5, batch_first=True)(torch.randn(2, 7, 9))",
    ),
    (
        "first state of a recurrent layer",
        "nn.GRU(8, 5, batch_first=True)(torch.randn(2, 7, 8), torch.zeros(1, 7, 5))",
        1,
        "",
        "its first state has to be 1 × 2 × 5 (layers · directions, batch, hidden), but it is 1 × 7 × 5",
        "nn.GRU(8, 5, batch_first=False)(torch.randn(2, 7, 8), torch.zeros(1, 7, 5))",
    ),
    (
        "matrices that do not meet",
        net(
            "self.w = nn.Parameter(torch.randn(6, 4))",
            "return x @ self.w",
            CALL.format("3, 4"),
        ),
        9,
        "",
        "the last axis of the first (4 (the features of the input, line 10)) must equal the last "
        "but one of the second (6 (line 7))",
        "return x @ self.w.transpose(0, 1)",
    ),
    (
        "letters of an einsum",
        'torch.einsum("ij,kj->ik", torch.randn(2, 3), torch.randn(3, 4))',
        1,
        "",
        "j is 3 (the features of the input, line 1) in operand 1 (`ij`) and 4",
        'torch.einsum("ij,jk->ik", torch.randn(2, 3), torch.randn(3, 4))',
    ),
    (
        "einops that does not divide",
        'rearrange(x, "b (h d) -> b h d", h=3)\n2x16',
        1,
        "",
        "(h d) is 16 (the features of the input, line 2), which is not divisible by h = 3. It works "
        "where the features is divisible by 3",
        'rearrange(x, "b (h d) -> b h d", h=4)',
    ),
    (
        "broadcast of two widths",
        net("self.b = nn.Parameter(torch.zeros(5))", "return x * self.b", CALL.format("3, 4")),
        9,
        "",
        "in the last axis one has 4 (the features of the input, line 10) and the other 5 (line 7)",
        "self.b = nn.Parameter(torch.zeros(4))",
    ),
    (
        "features of a batch norm",
        net(
            "self.c = nn.Conv2d(1, 6, 3)\nself.n = nn.BatchNorm2d(4)",
            "return self.n(self.c(x))",
            CALL.format("2, 1, 8, 8"),
        ),
        8,
        "n",
        "gets 6 channels (out_channels, line 7)",
        "self.n = nn.BatchNorm2d(6)",
    ),
    (
        "batch norm of one value",
        net("self.n = nn.BatchNorm1d(4)", "return self.n(x)", CALL.format("1, 4")),
        7,
        "n",
        "one value a channel, which has no variance",
        "Net()(torch.randn(2, 4))",
    ),
    (
        "axes that a layer norm takes",
        net("self.n = nn.LayerNorm(32)", "return self.n(x)", CALL.format("2, 7, 64")),
        7,
        "n",
        "normalises the last axes of 2 × 7 × 64, which are 64",
        "self.n = nn.LayerNorm(64)",
    ),
    (
        "targets of another batch",
        HEAD + "net = nn.Linear(4, 3)\n"
        "nn.CrossEntropyLoss()(net(torch.randn(8, 4)), torch.randint(0, 3, (6,)))",
        5,
        "",
        "scores of 8 × 3 (batch, classes …) take a target of 8 whole numbers",
        "nn.CrossEntropyLoss()(net(torch.randn(6, 4)), torch.randint(0, 3, (6,)))",
    ),
    (
        "classes that have no score",
        HEAD + "net = nn.Linear(4, 3)\n"
        "loss = F.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 5, (8,)))",
        5,
        "",
        "3 classes, 0 to 2 (out_features, line 4), but a target may be 4",
        "loss = F.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 3, (8,)))",
    ),
    (
        "prediction and target of other shapes",
        HEAD + "net = nn.Linear(4, 1)\n"
        "loss = F.binary_cross_entropy_with_logits(net(torch.randn(8, 4)), torch.ones(8))",
        5,
        "",
        "the prediction is 8 × 1 and the target 8",
        "",
    ),
    (
        "padding mask of an attention",
        net(
            "self.a = nn.MultiheadAttention(16, 2, batch_first=True)",
            "m = torch.zeros(x.size(1), x.size(0)).bool()\n"
            "return self.a(x, x, x, key_padding_mask=m)[0]",
            CALL.format("3, 5, 16"),
        ),
        7,
        "a",
        "gets a key_padding_mask of 5 × 3; it takes 3 × 5 (batch, keys)",
        "self.a = nn.MultiheadAttention(16, 2, batch_first=False)",
    ),
    (
        "width of an attention",
        net(
            "self.a = nn.MultiheadAttention(32, 2, batch_first=True)",
            "return self.a(x, x, x)[0]",
            CALL.format("3, 5, 16"),
        ),
        7,
        "a",
        "gets a query of 16 features (the features of the input, line 10); it takes 32",
        "self.a = nn.MultiheadAttention(16, 2, batch_first=True)",
    ),
    (
        "shortcut of other channels",
        net(
            "self.c = nn.Conv2d(4, 8, 3, stride=2, padding=1)",
            "return self.c(x) + x",
            CALL.format("1, 4, 8, 8"),
        ),
        9,
        "",
        "1 × 8 × 4 × 4 and 1 × 4 × 8 × 8 do not meet",
        "return self.c(x) + self.shortcut(x)",
    ),
    (
        "assertion of the source",
        net(
            "dim, heads = 30, 4\nassert dim % heads == 0\nself.d = nn.Linear(30, dim // heads)",
            "return self.d(x)",
            CALL.format("2, 30"),
        ),
        8,
        "",
        "30 (dim, line 7) is not divisible by 4 (heads, line 7)",
        "dim, heads = 32, 4",
    ),
    (
        "two axes for three names",
        net("self.d = 5", "b, c, h = x.shape\nreturn x", CALL.format("2, 30")),
        9,
        "",
        "2 values for 3 names",
        "",
    ),
    (
        "expand of a length",
        net("self.t = nn.Parameter(torch.zeros(2, 8))", "return self.t.expand(3, 8) + x", "3x8"),
        9,
        "",
        "2 × 8 cannot be expanded so",
        "self.t = nn.Parameter(torch.zeros(3, 8))",
    ),
)
