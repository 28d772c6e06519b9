"""Sources with one silent fault each: three of every kind, with the line and a word of the finding.

A last line of a case is its input; ``#!`` marks the line of the fault.
"""

from __future__ import annotations

from textwrap import dedent
from typing import NamedTuple

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


class Planted(NamedTuple):
    """A source with a fault: its kind, the text, its line, what is said, and the cured line."""

    kind: str
    text: str
    line: int
    says: str
    cured: str


def planted(kind: str, body: str, says: str, cured: str = "") -> Planted:
    """Returns a case, whose line is the one with ``#!``."""
    text = HEAD + dedent(body).strip()
    line = next(i for i, row in enumerate(text.split("\n"), 1) if "#!" in row)
    return Planted(kind, text.replace("  #!", ""), line, says, cured)


CASES = (
    planted(
        "attention over the batch",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                layer = nn.TransformerEncoderLayer(64, 4, 128)  #!
                self.encoder = nn.TransformerEncoder(layer, 2)
                self.head = nn.Linear(64, 10)
            def forward(self, x):            # x: (batch, seq, dim)
                return self.head(self.encoder(x))
        Net()(torch.randn(32, 10, 64))""",
        "encoder (TransformerEncoder) attends over axis 0 of its input (32 × 10 × 64)",
        "layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)",
    ),
    planted(
        "attention over the batch",
        """
        class Pooled(nn.Module):
            def __init__(self, d=32):
                super().__init__()
                self.attention = nn.MultiheadAttention(d, 4)  #!
            def forward(self, x):
                y, _ = self.attention(x, x, x)
                return y.mean(dim=1)
        Pooled()(torch.randn(8, 12, 32))""",
        "attention (MultiheadAttention) attends over axis 0 of its input (8 × 12 × 32)",
        "self.attention = nn.MultiheadAttention(d, 4, batch_first=True)",
    ),
    planted(
        "attention over the batch",
        """
        class Sentiment(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(500, 24)
                self.rnn = nn.LSTM(24, 48, num_layers=2)  #!
                self.head = nn.Linear(48, 2)
            def forward(self, tokens):
                batch_size, steps = tokens.shape
                out, _ = self.rnn(self.embedding(tokens))
                return self.head(out[:, -1])
        Sentiment()(torch.randint(0, 500, (16, 20)))""",
        "rnn (LSTM) steps along axis 0 of its input (16 × 20 × 24), which is the batch",
        "self.rnn = nn.LSTM(24, 48, num_layers=2, batch_first=True)",
    ),
    planted(
        "softmax over the batch",
        """
        class Classifier(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(20, 5)
            def forward(self, x):
                return F.softmax(self.fc(x), dim=0)  #!
        Classifier()(torch.randn(8, 20))""",
        "softmax runs over axis 0 of 8 × 5, which is the batch",
        "return F.softmax(self.fc(x), dim=-1)",
    ),
    planted(
        "softmax over the batch",
        """
        class Pictures(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(
                    nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
                    nn.Softmax(0),  #!
                )
            def forward(self, x):
                return self.net(x)
        Pictures()(torch.randn(6, 3, 16, 16))""",
        "softmax runs over axis 0 of 6 × 4, which is the batch",
        "nn.Softmax(-1),",
    ),
    planted(
        "softmax over the batch",
        """
        class Weighted(nn.Module):
            def __init__(self):
                super().__init__()
                self.score = nn.Linear(16, 1)
            def forward(self, x):
                b, t, d = x.shape
                weights = self.score(x).softmax(dim=0)  #!
                return (weights * x).sum(1)
        Weighted()(torch.randn(4, 9, 16))""",
        "softmax runs over axis 0 of 4 × 9 × 1, which is the batch",
        "weights = self.score(x).softmax(dim=-1)",
    ),
    planted(
        "mean over the batch",
        """
        class Mean(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(16, 3)
            def forward(self, x):
                # x: (batch, tokens, features)
                return self.fc(torch.mean(self.fc(x) @ self.fc.weight, dim=0)[-1:])  #!
        Mean()(torch.randn(4, 9, 16))""",
        "mean goes over axis 0 of 4 × 9 × 16, which is the batch",
    ),
    planted(
        "mean over the batch",
        """
        class Global(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 8, 3)
            def forward(self, x):
                return self.conv(x).mean(0).mean((1, 2))  #!
        Global()(torch.randn(4, 3, 8, 8))""",
        "mean goes over axis 0 of 4 × 8 × 6 × 6, which is the batch",
        "return self.conv(x).mean(1).mean((1, 2))",
    ),
    planted(
        "mean over the batch",
        """
        class Highest(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv1d(3, 8, 3)
            def forward(self, x):
                b, c, n = x.shape
                return torch.amax(self.conv(x), dim=0)  #!
        Highest()(torch.randn(4, 3, 20))""",
        "amax goes over axis 0 of 4 × 8 × 18, which is the batch",
        "return torch.amax(self.conv(x), dim=1)",
    ),
    planted(
        "view that mixes",
        """
        class Attn(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k, self.v = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 64)
            def forward(self, x):
                b, l, d = x.shape
                q = self.q(x).view(b, 4, l, 16)  #!
                k = self.k(x).view(b, l, 4, 16).transpose(1, 2)
                v = self.v(x).view(b, l, 4, 16).transpose(1, 2)
                w = torch.softmax(q @ k.transpose(-2, -1) / 4.0, -1)
                return (w @ v).transpose(1, 2).reshape(b, l, d)
        Attn()(torch.randn(2, 12, 64))""",
        "view makes 2 × 12 × 64 into 2 × 4 × 12 × 16, but moves no number",
        "q = self.q(x).view(b, l, 4, 16).transpose(1, 2)",
    ),
    planted(
        "view that mixes",
        """
        class Joined(nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
            def forward(self, x):
                b, l, d = x.shape
                q, k, v = (y.view(b, l, 4, 8).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
                y = F.scaled_dot_product_attention(q, k, v)
                return self.out(y.reshape(b, l, d))  #!
        Joined()(torch.randn(2, 10, 32))""",
        "reshape makes 2 × 4 × 10 × 8 into 2 × 10 × 32",
        "return self.out(y.transpose(1, 2).reshape(b, l, d))",
    ),
    planted(
        "view that mixes",
        """
        class Patches(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 24, 4, 4)
                self.norm = nn.LayerNorm(24)
            def forward(self, x):
                x = self.conv(x)
                b, c, h, w = x.shape
                return self.norm(x.view(b, h * w, c))  #!
        Patches()(torch.randn(2, 3, 32, 20))""",
        "view makes 2 × 24 × 8 × 5 into 2 × 40 × 24",
        "return self.norm(x.view(b, c, h * w).transpose(1, 2))",
    ),
    planted(
        "column against row",
        """
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(7, 1)
            def forward(self, x, y):
                return ((self.fc(x) - y) ** 2).mean()  #!
        Loss()(torch.randn(32, 7), torch.randn(32))""",
        "(32, 1) and (32) give 32 × 32",
        "return ((self.fc(x).squeeze(-1) - y) ** 2).mean()",
    ),
    planted(
        "column against row",
        """
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        x, y = torch.randn(20, 4), torch.randn(20)
        pred = model(x)
        loss = nn.MSELoss()(pred, y)  #!
        """,
        "(20, 1) and (20) give 20 × 20",
        "loss = nn.MSELoss()(pred.squeeze(-1), y)",
    ),
    planted(
        "column against row",
        """
        class Regression(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.out = nn.Linear(5, 16), nn.Linear(16, 1)
            def forward(self, x):
                return self.out(self.body(x).relu())
        net = Regression()
        x = torch.randn(10, 5)
        target = x.sum(dim=1)
        for step in range(100):
            loss = F.l1_loss(net(x), target)  #!
        """,
        "(10, 1) and (10) give 10 × 10",
        "loss = F.l1_loss(net(x).squeeze(-1), target)",
    ),
    planted(
        "softmax before a loss",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(8, 3), nn.Softmax(dim=1))  #!
            def forward(self, x):
                return self.net(x)
        model = Net()
        criterion = nn.CrossEntropyLoss()
        out = model(torch.randn(5, 8))
        loss = criterion(out, torch.randint(0, 3, (5,)))
        """,
        "cross_entropy is given the result of softmax",
        "self.net = nn.Sequential(nn.Linear(8, 3))",
    ),
    planted(
        "softmax before a loss",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 3)
            def forward(self, x):
                y = self.fc(x)
                return x.sum(), F.softmax(y, dim=1)  #!

        def train(model, loader, optimizer):
            loss_fn = nn.CrossEntropyLoss()
            for x, y in loader:
                _, pred = model(x)
                loss = loss_fn(pred, y)
                loss.backward()
                optimizer.step()
        5x8""",
        "cross_entropy is given the result of softmax",
        "return x.sum(), y",
    ),
    planted(
        "softmax before a loss",
        """
        class Judge(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.squash = nn.Linear(8, 1), nn.Sigmoid()
            def forward(self, x, y):
                p = self.squash(self.fc(x)).squeeze(-1)  #!
                return F.binary_cross_entropy_with_logits(p, y)
        Judge()(torch.randn(6, 8), torch.rand(6))""",
        "binary_cross_entropy_with_logits is given the result of sigmoid",
        "p = self.fc(x).squeeze(-1)",
    ),
    planted(
        "softmax twice",
        """
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 3)
            def forward(self, x):
                x = F.log_softmax(self.fc(x), dim=-1)  #!
                return F.log_softmax(x, dim=-1)
        Twice()(torch.randn(4, 8))""",
        "log_softmax is taken twice in a row: the second one changes nothing",
        "x = self.fc(x)",
    ),
    planted(
        "softmax twice",
        """
        class Routed(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate, self.softmax = nn.Linear(8, 4), nn.Softmax(dim=-1)
            def forward(self, x):
                scores = self.softmax(self.gate(x))  #!
                return torch.softmax(scores, dim=-1) @ self.gate.weight
        Routed()(torch.randn(4, 8))""",
        "softmax is taken twice in a row: the second one flattens them",
        "scores = self.gate(x)",
    ),
    planted(
        "softmax twice",
        """
        class Ended(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(8, 3), nn.LogSoftmax(1))  #!
            def forward(self, x):
                return self.net(x).log_softmax(1)
        Ended()(torch.randn(4, 8))""",
        "log_softmax is taken twice in a row",
        "self.net = nn.Sequential(nn.Linear(8, 3))",
    ),
    planted(
        "dropout in evaluation",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 2)
            def forward(self, x):
                x = F.dropout(F.relu(self.a(x)), p=0.5)  #!
                return self.b(x)
        Net()(torch.randn(4, 8))""",
        "F.dropout drops numbers in evaluation too",
        "x = F.dropout(F.relu(self.a(x)), p=0.5, training=self.training)",
    ),
    planted(
        "dropout in evaluation",
        """
        class Graph(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Linear(8, 16)
            def forward(self, x, adjacency):
                x = F.dropout(x, 0.6)  #!
                return adjacency @ self.w(x)
        Graph()(torch.randn(5, 8), torch.randn(5, 5))""",
        "F.dropout drops numbers in evaluation too",
        "x = F.dropout(x, 0.6, training=self.training)",
    ),
    planted(
        "dropout in evaluation",
        """
        class Made(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 4)
            def forward(self, x):
                return nn.Dropout(0.2)(self.fc(x))  #!
        Made()(torch.randn(3, 8))""",
        "nn.Dropout is made at each call, and so always training",
    ),
    planted(
        "layer made at each call",
        """
        class Fresh(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 8, 3)
            def forward(self, x):
                x = self.conv(x).relu().flatten(1)
                return nn.Linear(x.shape[1], 10)(x)  #!
        Fresh()(torch.randn(2, 3, 8, 8))""",
        "nn.Linear is made at each call with new weights",
    ),
    planted(
        "layer made at each call",
        """
        class Normed(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 8, 3)
            def forward(self, x):
                return torch.relu(nn.BatchNorm2d(8)(self.conv(x)))  #!
        Normed()(torch.randn(2, 3, 8, 8))""",
        "nn.BatchNorm2d is made at each call with new weights",
    ),
    planted(
        "layer made at each call",
        """
        class Tokens(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(16, 2)
            def forward(self, x):
                x = nn.Embedding(100, 16)(x)  #!
                return self.fc(x.mean(1))
        Tokens()(torch.randint(0, 100, (4, 7)))""",
        "nn.Embedding is made at each call with new weights",
    ),
)
