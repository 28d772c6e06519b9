"""Sources with mistakes that people make often, as in ``failing_sources``; several need two edits."""

# ruff: noqa: E501

from __future__ import annotations

from tests.findings.failing_sources import CALL, HEAD, net

LOSS = f"{HEAD}model = {{}}\nx = {{}}\ny = {{}}\nloss = {{}}(model(x), y)"
USUAL: tuple[tuple[str, str, int, str, str, str], ...] = (
    (
        "target with an axis more",
        LOSS.format(
            "nn.Linear(10, 5)",
            "torch.randn(8, 10)",
            "torch.randint(0, 5, (8, 1))",
            "nn.CrossEntropyLoss()",
        ),
        7,
        "",
        "take a target of 8 whole numbers",
        "loss = nn.CrossEntropyLoss()(model(x), y.squeeze(1))",
    ),
    (
        "target with an axis less",
        LOSS.format(
            "nn.Sequential(nn.Linear(30, 1), nn.Sigmoid())",
            "torch.randn(8, 30)",
            "torch.rand(8)",
            "nn.BCELoss()",
        ),
        7,
        "",
        "the prediction is 8 × 1 and the target 8",
        "loss = nn.BCELoss()(model(x), y.unsqueeze(1))",
    ),
    (
        "target of ones and zeros as whole numbers",
        LOSS.format(
            "nn.Flatten()",
            "torch.randn(8, 2, 5)",
            "F.one_hot(torch.randint(0, 10, (8,)), 10)",
            "nn.CrossEntropyLoss()",
        ),
        7,
        "",
        "take a target of 8 whole numbers",
        "loss = nn.CrossEntropyLoss()(model(x), y.argmax(1))",
    ),
    (
        "classes that stand last",
        LOSS.format(
            "nn.Linear(6, 30)",
            "torch.randn(4, 20, 6)",
            "torch.randint(0, 30, (4, 20))",
            "nn.CrossEntropyLoss()",
        ),
        7,
        "",
        "scores of 4 × 20 × 30 (batch, classes …) take a target of 4 × 30",
        "loss = nn.CrossEntropyLoss()(model(x).transpose(-2, -1), y)",
    ),
    (
        "autoencoder of odd halves",
        f"{HEAD}enc = nn.Conv2d(1, 4, 3, stride=2, padding=1)\n"
        "dec = nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1)\n"
        "x = torch.randn(2, 1, 28, 28)\nloss = nn.MSELoss()(dec(enc(x)), x)",
        7,
        "",
        "the prediction is 2 × 1 × 27 × 27 and the target 2 × 1 × 28 × 28",
        "dec = nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1, output_padding=1)",
    ),
    (
        "a picture that is not flattened",
        net("self.f = nn.Linear(784, 10)", "return self.f(x)", CALL.format("2, 1, 28, 28")),
        7,
        "f",
        "it takes 784",
        "return self.f(x.flatten(1))",
    ),
    (
        "a batch that is flattened as well",
        net(
            "self.c = nn.Conv2d(1, 8, 3)\nself.f = nn.Linear(5408, 10)",
            "return self.f(torch.flatten(self.c(x)))",
            CALL.format("4, 1, 28, 28"),
        ),
        7,
        "f",
        "gets 21632 features: 4 · 8 · 26 · 26",
        "return self.f(torch.flatten(self.c(x), 1))",
    ),
    (
        "a batch that a view takes along, before a layer of another size",
        net(
            "self.c = nn.Conv2d(1, 8, 3)\nself.f = nn.Linear(128, 10)",
            "x = self.c(x)\nreturn self.f(x.view(-1))",
            CALL.format("4, 1, 28, 28"),
        ),
        7,
        "f",
        "gets 21632 features",
        "return self.f(x.flatten(1))",
    ),
    (
        "features of a class that nothing calls",
        net(
            "self.c = nn.Conv2d(1, 64, 9)\nself.f = nn.Linear(1000, 10)",
            "x = F.max_pool2d(self.c(x), 2)\nreturn self.f(x.view(x.size(0), -1))",
            "",
        ),
        7,
        "f",
        "The assumed input 1 × 1 × 28 × 28 does not fit: f (Linear) gets 6400 features",
        "self.f = nn.Linear(6400, 10)",
    ),
    (
        "rows of a fixed length, for which the parts of one picture are no batch",
        net(
            "self.c = nn.Conv2d(1, 64, 9)\nself.f = nn.Linear(576, 10)",
            "x = F.max_pool2d(self.c(x), 2)\nreturn self.f(x.view(-1, 576))",
            "",
        ),
        10,
        "",
        "1 × 64 × 10 × 10 has 6,400 numbers, which is no multiple of 576",
        "return self.f(x.view(-1, 64 * 10 * 10))",
    ),
    (
        "a Flatten that a Sequential lacks",
        "nn.Sequential(nn.Conv2d(1, 4, 3), nn.Linear(2704, 10))(torch.randn(2, 1, 28, 28))",
        1,
        "1",
        "it takes 2704",
        "nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(2704, 10))(torch.randn(2, 1, 28, 28))",
    ),
    (
        "noise without sides",
        net(
            "self.c = nn.ConvTranspose2d(16, 8, 4)",
            "return self.c(x)",
            CALL.format("3, 16"),
        ),
        7,
        "c",
        "takes batch × channels × height × width, but gets an array of 2 axes (3 × 16)",
        "return self.c(x[:, :, None, None])",
    ),
    (
        "a picture in one row",
        net("self.c = nn.Conv2d(3, 8, 3)", "return self.c(x)", CALL.format("2, 75")),
        7,
        "c",
        "but gets an array of 2 axes (2 × 75)",
        "return self.c(x.view(-1, 3, 5, 5))",
    ),
    (
        "channels that stand last, and a view behind them",
        net(
            "self.c = nn.Conv2d(3, 8, 3)\nself.f = nn.Linear(288, 5)",
            "x = self.c(x)\nreturn self.f(x.view(x.size(0), -1))",
            CALL.format("2, 8, 8, 3"),
        ),
        7,
        "c",
        "the channels stand last, not second",
        "x = self.c(x.permute(0, 3, 1, 2))",
    ),
    (
        "channels of a sequence that stand last, and features behind them",
        net(
            "self.c = nn.Conv1d(12, 8, 5)\nself.f = nn.Linear(8, 2)",
            "return self.f(self.c(x).flatten(1))",
            CALL.format("2, 50, 12"),
        ),
        7,
        "c",
        "the channels stand last, not second",
        "return self.f(self.c(x.transpose(-2, -1)).flatten(1))",
    ),
    (
        "a norm over channels that stand second",
        net(
            "self.c = nn.Conv2d(6, 6, 7, padding=3, groups=6)\nself.n = nn.LayerNorm(6)",
            "y = self.n(self.c(x))\nreturn x + y",
            CALL.format("2, 6, 10, 10"),
        ),
        8,
        "n",
        "normalises the last axes of 2 × 6 × 10 × 10, which are 10",
        "y = self.n(self.c(x).permute(0, 2, 3, 1))",
    ),
    (
        "a mixer of tokens that is not turned",
        net(
            "self.t = nn.Linear(20, 20)\nself.n = nn.LayerNorm(32)",
            "return x + self.t(self.n(x))",
            CALL.format("2, 20, 32"),
        ),
        7,
        "t",
        "it takes 20",
        "return x + self.t(self.n(x).transpose(-2, -1)).transpose(-2, -1)",
    ),
    (
        "queries of one length and keys of another",
        f"{HEAD}def heads(q, k):\n"
        "    B, T, C = q.shape\n"
        "    q = q.view(B, T, 4, C // 4).transpose(1, 2)\n"
        "    k = k.view(B, T, 4, C // 4).transpose(1, 2)\n"
        "    return (q @ k.transpose(-2, -1) @ k).transpose(1, 2).view(B, T, C)\n"
        "heads(torch.randn(2, 10, 32), torch.randn(2, 20, 32))",
        7,
        "",
        "2 × 20 × 32 has 1,280 numbers",
        "k = k.view(B, -1, 4, C // 4).transpose(1, 2)",
    ),
    (
        "groups of queries that share keys",
        f"{HEAD}F.scaled_dot_product_attention(torch.randn(1, 8, 5, 4), torch.randn(1, 2, 5, 4), "
        "torch.randn(1, 2, 5, 4))",
        4,
        "",
        "query, key and value are",
        "F.scaled_dot_product_attention(torch.randn(1, 8, 5, 4), torch.randn(1, 2, 5, 4), "
        "torch.randn(1, 2, 5, 4), enable_gqa=True)",
    ),
    (
        "keys of another width",
        f"{HEAD}a = nn.MultiheadAttention(16, 2, batch_first=True)\n"
        "kv = torch.randn(2, 7, 24)\na(torch.randn(2, 5, 16), kv, kv)",
        4,
        "",
        "gets a key of 24 features",
        "a = nn.MultiheadAttention(16, 2, batch_first=True, kdim=24, vdim=24)",
    ),
    (
        "numbers of numpy, of 64 bits",
        f"{HEAD}import numpy as np\nx = np.random.rand(32, 10)\n"
        "net = nn.Sequential(nn.Linear(10, 5), nn.ReLU())\nnet(torch.from_numpy(x))",
        6,
        "0",
        "gets an array (32 × 10) of float64 beside one of float32",
        "net(torch.from_numpy(x).float())",
    ),
    (
        "a view with the features of larger pictures",
        net(
            "self.c = nn.Conv2d(1, 4, 3)\nself.f = nn.Linear(784, 10)",
            "x = self.c(x)\nx = x.view(-1, 784)\nreturn self.f(x)",
            "F.cross_entropy(Net()(torch.randn(3, 1, 12, 12)), torch.randint(0, 10, (3,)))",
        ),
        11,
        "",
        "which is no multiple of 784",
        "x = x.view(x.size(0), -1)",
    ),
    (
        "positions for longer texts",
        net(
            "self.p = nn.Parameter(torch.zeros(1, 20, 8))",
            "return x + self.p",
            CALL.format("2, 7, 8"),
        ),
        9,
        "",
        "do not meet",
        "return x + self.p[:, :x.size(1)]",
    ),
    (
        "an einsum with a letter too few",
        f"{HEAD}torch.einsum('bhqd,bkd->bhqk', torch.randn(2, 4, 5, 6), torch.randn(2, 4, 7, 6))",
        4,
        "",
        "`bkd` names 3 axes",
        "torch.einsum('bhqd,bhkd->bhqk', torch.randn(2, 4, 5, 6), torch.randn(2, 4, 7, 6))",
    ),
    (
        "a mask of padding, where the layer takes the steps first",
        net(
            "self.a = nn.MultiheadAttention(16, 2)",
            "return self.a(x, x, x, key_padding_mask=torch.zeros(x.shape[:2]).bool())[0]",
            "Net()(torch.randn(4, 7, 16))  # batch, tokens, width",
        ),
        7,
        "a",
        "gets a key_padding_mask of 4 × 7; it takes 7 × 4",
        "self.a = nn.MultiheadAttention(16, 2, batch_first=True)",
    ),
    (
        "one class a step, where the layer takes the steps first",
        net(
            "self.r = nn.LSTM(8, 6)\nself.f = nn.Linear(6, 3)",
            "B, T, _ = x.shape\nreturn self.f(self.r(x)[1][0][-1])",
            "F.cross_entropy(Net()(torch.randn(4, 7, 8)), torch.randint(0, 3, (4,)))",
        ),
        12,
        "",
        "scores of 7 × 3",
        "self.r = nn.LSTM(8, 6, batch_first=True)",
    ),
    (
        "an encoder without a projection",
        net(
            "self.e = nn.TransformerEncoderLayer(16, 2)",
            "return self.e(x)",
            CALL.format("3, 9, 7"),
        ),
        7,
        "e.self_attn",
        "gets a query of 7 features",
        "return self.e(self.projection(x))",
    ),
    (
        "positions without the class token",
        net(
            "self.n = 49\nself.c = nn.Parameter(torch.zeros(1, 1, 8))\n"
            "self.p = nn.Parameter(torch.zeros(1, self.n, 8))",
            "x = torch.cat([self.c.expand(x.size(0), -1, -1), x], 1)\nreturn x + self.p",
            CALL.format("2, 49, 8"),
        ),
        12,
        "",
        "do not meet",
        "self.p = nn.Parameter(torch.zeros(1, self.n + 1, 8))",
    ),
    (
        "sizes in the wrong order",
        net(
            "self.e = nn.Embedding(50, 8)\nself.r = nn.LSTM(6, 8, batch_first=True)\n"
            "self.f = nn.Linear(6, 3)",
            "return self.f(self.r(self.e(x))[0])",
            "Net()(torch.randint(0, 50, (2, 7)))",
        ),
        8,
        "r",
        "gets 8 features a step",
        "self.r = nn.LSTM(8, 6, batch_first=True)",
    ),
    (
        "both directions of a recurrent layer",
        net(
            "h = 6\nself.r = nn.GRU(8, h, batch_first=True, bidirectional=True)\n"
            "self.f = nn.Linear(h, 3)",
            "return self.f(self.r(x)[0])",
            CALL.format("2, 7, 8"),
        ),
        9,
        "f",
        "gets 12 features",
        "self.f = nn.Linear(2 * h, 3)",
    ),
    (
        "a channel too much for a recurrent layer",
        net(
            "self.r = nn.RNN(28, 8, batch_first=True)",
            "return self.r(x)[0]",
            CALL.format("4, 1, 28, 28"),
        ),
        7,
        "r",
        "takes an array of 3 axes, but gets one of 4 (4 × 1 × 28 × 28)",
        "return self.r(x.squeeze(1))[0]",
    ),
    (
        "a causal padding that is not cut off",
        net(
            "k = 3\nself.c = nn.Conv1d(4, 4, k, dilation=2, padding=(k - 1) * 2)",
            "return x + self.c(x)",
            CALL.format("2, 4, 20"),
        ),
        10,
        "",
        "do not meet",
        "self.c = nn.Conv1d(4, 4, k, dilation=2, padding=(k - 1) * 2 // 2)",
    ),
    (
        "a padding that strides do not take",
        "nn.Conv2d(4, 8, 3, stride=2, padding='same')(torch.randn(1, 4, 10, 10))",
        1,
        "",
        "is not supported for strided convolutions",
        "nn.Conv2d(4, 8, 3, stride=2, padding=1)(torch.randn(1, 4, 10, 10))",
    ),
    (
        "indices with an axis less",
        f"{HEAD}torch.randn(5, 4).gather(1, torch.randint(0, 4, (5,)))",
        4,
        "",
        "5 × 4 and 5 do not fit",
        "torch.randn(5, 4).gather(1, torch.randint(0, 4, (5,)).unsqueeze(1))",
    ),
    (
        "encoder in both directions before a decoder in one",
        f"{HEAD}class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.encoder = nn.LSTM(6, 5, bidirectional=True)\n"
        "        self.decoder = nn.LSTM(6, 5)\n"
        "    def forward(self, x, y):\n"
        "        return self.decoder(y, self.encoder(x)[1])[0]\n"
        "Net()(torch.randn(4, 2, 6), torch.randn(3, 2, 6))",
        8,
        "decoder",
        "has to be 1 × 2 × 5",
        "self.encoder = nn.LSTM(6, 5, bidirectional=False)",
    ),
    (
        "shortcut without the stride of its branch, in a block that is used with several",
        f"{HEAD}class Block(nn.Module):\n"
        "    def __init__(self, c, d, stride=1):\n"
        "        super().__init__()\n"
        "        self.a = nn.Conv2d(c, d, 3, stride=stride, padding=1)\n"
        "        self.b = nn.Conv2d(d, d, 3, padding=1)\n"
        "        self.shortcut = nn.Conv2d(c, d, 1)\n"
        "    def forward(self, x):\n"
        "        return F.relu(self.b(F.relu(self.a(x))) + self.shortcut(x))\n"
        "nn.Sequential(Block(3, 8), Block(8, 16, 2), Block(16, 16))(torch.randn(2, 3, 16, 16))",
        11,
        "1",
        "2 × 16 × 8 × 8 and 2 × 16 × 16 × 16 do not meet",
        "self.shortcut = nn.Conv2d(c, d, 1, stride=stride)",
    ),
)
