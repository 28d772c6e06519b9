"""Right sources that look like a silent fault: no alarm may be raised for them."""

from __future__ import annotations

from textwrap import dedent

from tests.findings.silent.planted import HEAD


def right(body: str) -> str:
    """Returns a whole source."""
    return HEAD + dedent(body).strip()


RIGHT = {
    "heads are split and joined": right(
        """
        class Attn(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k, self.v = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 64)
            def forward(self, x):
                b, l, d = x.shape
                q = self.q(x).view(b, l, 4, 16).transpose(1, 2)
                k = self.k(x).view(b, l, 4, 16).transpose(1, 2)
                v = self.v(x).view(b, l, 4, 16).transpose(1, 2)
                w = torch.softmax(q @ k.transpose(-2, -1) / 4.0, -1)
                return (w @ v).transpose(1, 2).reshape(b, l, d)
        Attn()(torch.randn(2, 12, 64))"""
    ),
    "steps first, as torch's example": right(
        """
        layer = nn.TransformerEncoderLayer(d_model=64, nhead=8)
        encoder = nn.TransformerEncoder(layer, num_layers=2)
        src = torch.rand(10, 32, 64)
        out = encoder(src)"""
    ),
    "steps first, as it is written": right(
        """
        class Words(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(100, 16)
                self.attention = nn.MultiheadAttention(16, 4)
                self.rnn = nn.GRU(16, 16)
            def forward(self, x):  # (seq, batch)
                x = self.embedding(x)
                x, _ = self.attention(x, x, x)
                return self.rnn(x)[0][-1]
        Words()(torch.randint(0, 100, (12, 4)))"""
    ),
    "the batch is moved first": right(
        """
        class Moved(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = nn.MultiheadAttention(16, 4)
            def forward(self, x):  # (batch, seq, dim)
                x = x.transpose(0, 1)
                x, _ = self.attention(x, x, x)
                return x.transpose(0, 1)
        Moved()(torch.randn(4, 12, 16))"""
    ),
    "an LSTM, as torch's example": right(
        "rnn = nn.LSTM(10, 20, 2)\nx = torch.randn(5, 3, 10)\noutput, (h, c) = rnn(x)"
    ),
    "distances of a codebook": right(
        """
        class Codes(nn.Module):
            def __init__(self):
                super().__init__()
                self.codes = nn.Embedding(24, 8)
            def forward(self, z):
                z = z.permute(0, 2, 3, 1).reshape(-1, 8)
                w = self.codes.weight
                d = (z ** 2).sum(1, keepdim=True) + (w ** 2).sum(1) - 2 * z @ w.t()
                return self.codes(d.argmin(1))
        Codes()(torch.randn(2, 8, 3, 4))"""
    ),
    "relative positions": right(
        """
        class Relative(nn.Module):
            def __init__(self):
                super().__init__()
                self.bias = nn.Embedding(23, 4)
            def forward(self, x):
                n = torch.arange(x.shape[1])
                at = torch.linspace(0, 1, x.shape[1])
                far = (at.unsqueeze(1) - at).abs() + (at[:, None] - at)
                return self.bias(n.unsqueeze(1) - n + 11).permute(2, 0, 1) * far
        Relative()(torch.randn(2, 12, 8))"""
    ),
    "rows are skewed on purpose": right(
        """
        class Skewed(nn.Module):
            def __init__(self):
                super().__init__()
                self.e = nn.Parameter(torch.randn(16, 9))
            def forward(self, x):
                b, l, d = x.shape
                scores = F.pad(x @ self.e, (1, 0))
                return scores.view(b, -1, l)[:, 1:].view(b, l, -1)
        Skewed()(torch.randn(2, 9, 16))"""
    ),
    "patches are merged": right(
        """
        class Merged(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(64, 32)
            def forward(self, x):
                b, n, d = x.shape
                return self.fc(x.view(b, n // 4, d * 4))
        Merged()(torch.randn(2, 64, 16))"""
    ),
    "channels are shuffled": right(
        """
        class Shuffle(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(12, 12, 1, groups=3)
            def forward(self, x):
                x = self.conv(x)
                b, c, h, w = x.shape
                return x.view(b, 3, c // 3, h, w).transpose(1, 2).reshape(b, c, h, w)
        Shuffle()(torch.randn(2, 12, 6, 6))"""
    ),
    "windows are cut": right(
        """
        class Windows(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.LayerNorm(8)
            def forward(self, x):
                b, h, w, c = x.shape
                x = x.view(b, h // 4, 4, w // 4, 4, c)
                return self.norm(x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 16, c))
        Windows()(torch.randn(2, 16, 8, 8))"""
    ),
    "a bag of instances is weighed": right(
        """
        class Bag(nn.Module):
            def __init__(self):
                super().__init__()
                self.score, self.head = nn.Linear(16, 1), nn.Linear(16, 2)
            def forward(self, x):
                w = torch.softmax(self.score(x), dim=0)
                return self.head((w * x).sum(0))
        Bag()(torch.randn(30, 16))"""
    ),
    "pairs of a batch are compared": right(
        """
        class Contrast(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(16, 8), nn.Linear(12, 8)
            def forward(self, x, y):
                scores = F.normalize(self.a(x), dim=-1) @ F.normalize(self.b(y), dim=-1).t()
                return scores.softmax(dim=0), F.cross_entropy(scores, torch.arange(len(x)))
        Contrast()(torch.randn(6, 16), torch.randn(6, 12))"""
    ),
    "experts are balanced over the batch": right(
        """
        class Gate(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = nn.Linear(16, 4)
            def forward(self, x):
                # x: (batch, tokens, features)
                p = self.gate(x).softmax(-1)
                return p, (p.mean((0, 1)) * 4).pow(2).sum()
        Gate()(torch.randn(2, 9, 16))"""
    ),
    "a batch norm by hand": right(
        """
        class Norm(nn.Module):
            def __init__(self, d=8):
                super().__init__()
                self.g, self.b = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))
            def forward(self, x):
                mean, var = x.mean(0), x.var(0)
                return (x - mean) / torch.sqrt(var + 1e-5) * self.g + self.b
        Norm()(torch.randn(16, 8))"""
    ),
    "dropout stays on, as it is written": right(
        """
        class Sampled(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 8)
            def forward(self, x):
                x = F.dropout(self.fc(x), 0.5, training=True)
                x = F.dropout(x, 0.1, self.training)
                if self.training:
                    x = F.dropout(x, p=0.2)
                return F.dropout(x, p=0.0)
        Sampled()(torch.randn(4, 8))"""
    ),
    "a softmax where it does not train": right(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 3)
            def forward(self, x):
                x = self.fc(x)
                return x if self.training else F.softmax(x, -1)
        model = Net()
        criterion = nn.CrossEntropyLoss()
        loss = criterion(model(torch.randn(5, 8)), torch.randint(0, 3, (5,)))"""
    ),
    "logarithms before their loss": right(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 3)
            def forward(self, x):
                return F.log_softmax(self.fc(x), dim=1)
        model = Net()
        def train(model, loader):
            for x, y in loader:
                F.nll_loss(model(x), y).backward()
        model(torch.randn(5, 8))"""
    ),
    "a name that is scores by then": right(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 3)
            def forward(self, x):
                y = self.fc(x)
                return F.softmax(y, dim=1), y
        model = Net()
        out, scores = model(torch.randn(5, 8))
        out = scores * 2
        y = torch.randint(0, 3, (5,))
        loss = F.cross_entropy(out, y) + F.cross_entropy(scores, y)"""
    ),
    "a column against a column": right(
        """
        model = nn.Linear(4, 1)
        x, y = torch.randn(20, 4), torch.randn(20, 1)
        loss = F.mse_loss(model(x), y) + (model(x).squeeze(1) - y[:, 0]).abs().mean()"""
    ),
    "heads that only training uses": right(
        """
        class Helped(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head, self.aux = nn.Linear(8, 8), nn.Linear(8, 2), nn.Linear(8, 2)
            def forward(self, x):
                x = self.body(x)
                if self.training:
                    return self.head(x), self.aux(x)
                return self.head(x)
        Helped()(torch.randn(4, 8))"""
    ),
    "a frozen network in a list": right(
        """
        class Judged(nn.Module):
            def __init__(self, judge):
                super().__init__()
                self.judge = [judge]
                self.fc = nn.Linear(8, 8)
            def forward(self, x):
                return self.judge[0](self.fc(x))
        Judged(nn.Linear(8, 1))(torch.randn(4, 8))"""
    ),
    "a list that is registered": right(
        """
        class Listed(nn.Module):
            def __init__(self):
                super().__init__()
                layers = [nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)]
                self.layers = layers
                self.net = nn.Sequential(*layers)
                self.acts = [nn.ReLU(), nn.GELU()]
            def forward(self, x):
                return self.acts[1](self.net(x)) + self.layers[0](x)
        Listed()(torch.randn(4, 8))"""
    ),
    "weights that are shared": right(
        """
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(50, 16)
                self.act = nn.ReLU()
                # one layer, shared by all depths
                self.layers = nn.ModuleList([nn.Linear(16, 16)] * 3)
                self.head = nn.Linear(16, 50, bias=False)
                self.head.weight = self.embedding.weight
            def forward(self, x):
                x = self.embedding(x)
                for layer in self.layers:
                    x = self.act(layer(x))
                return self.head(x)
        Tied()(torch.randint(0, 50, (2, 7)))"""
    ),
    "parts of a network under two names": right(
        """
        class Body(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)
            def forward(self, x):
                return self.two(self.one(x))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = Body()
                self.first = self.body.one
            def forward(self, x):
                return self.body(x) + self.first(x)
        Net()(torch.randn(4, 8))"""
    ),
    "a sum in an einsum": right(
        """
        class Sums(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.randn(16, 4))
            def forward(self, x):
                y = torch.einsum("bnd,dh->bh", x, self.w)
                return y + torch.einsum("bnd->b", x)[:, None]
        Sums()(torch.randn(2, 5, 16))"""
    ),
    "an input that is handed on": right(
        """
        class Same(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 4)
            def forward(self, x):
                x = x.float().contiguous()
                return x.log_softmax(-1), self.fc(x) - x.view(4, 8).mean(-1, keepdim=True)
        Same()(torch.randn(4, 8))"""
    ),
    "changes in place": right(
        """
        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.act = nn.Linear(8, 8), nn.ReLU(inplace=True)
            def forward(self, x):
                x = self.fc(x)
                x.clamp_(-1, 1)
                self.act(x)
                F.relu(x, inplace=True)
                print(x.mean())
                return x
        Masked()(torch.randn(4, 8))"""
    ),
}
