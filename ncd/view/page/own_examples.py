"""Example texts on the page Yours."""

from __future__ import annotations

from ncd.view.session.own_entry import SAMPLE

DELTA_RULE = """@define(h=2, v=8, k=8)
def step(S: "h v k", k: "h k", v: "h v", a: "h", b: "h", q: "h k"):
    S = Map("h v k, h -> h v k", "$1 * $2", "decay")(S, a)
    old = Einsum("h v k, h k -> h v")(S, k)
    new = Map("h v, h v, h -> h v", "$3 * ($2 - $1)", "delta")(old, v, b)
    S = Map("h v k, h k, h v -> h v k", "$1 + $2 * $3", "write")(S, k, new)
    return S, Einsum("h v k, h k -> h v")(S, q)
"""
LLAMA_3 = """{
  "model_type": "llama", "vocab_size": 128256,
  "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8,
  "max_position_embeddings": 8192, "rope_theta": 500000.0, "rms_norm_eps": 1e-05
}
"""
SMALL_GPT = """import torch
from torch import nn
from torch.nn import functional as F

class Attention(nn.Module):
    def __init__(self, m, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(m, 3 * m)
        self.out = nn.Linear(m, m)

    def forward(self, x):
        b, t, m = x.shape
        parts = self.qkv(x).split(m, dim=2)
        q, k, v = (y.view(b, t, self.heads, m // self.heads).transpose(1, 2) for y in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, m))

class Layer(nn.Module):
    def __init__(self, m, heads):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(m), nn.LayerNorm(m)
        self.attention = Attention(m, heads)
        self.mlp = nn.Sequential(nn.Linear(m, 4 * m), nn.GELU(), nn.Linear(4 * m, m))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))

class GPT(nn.Module):
    def __init__(self, vocabulary=65, context=32, m=64, heads=4, layers=3):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, m)
        self.positions = nn.Embedding(context, m)
        self.layers = nn.ModuleList([Layer(m, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(m)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.tokens.weight.T

GPT()(torch.randint(65, (1, 16)))
"""
OPENING = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 16 * 16, 10)
    def forward(self, x):
        x = F.max_pool2d(self.conv(x).relu(), 2)
        return self.fc(x.flatten(1))
Net()(torch.randn(8, 3, 32, 32))
"""
EXAMPLES = {
    "A small network": OPENING,
    "Gated layer": SAMPLE,
    "nn.Conv2d": "nn.Conv2d(3, 64, 7, stride=2, padding=3)(torch.randn(1, 3, 224, 224))",
    "LeNet": """nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.MaxPool2d(2),
    nn.Conv2d(6, 16, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10),
)(torch.randn(1, 1, 28, 28))""",
    "A small GPT": SMALL_GPT,
    "einsum": "b h i d, b h j d -> b h i j",
    "einops": 'rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=4, q=4)\n2x32x32x3',
    "Delta rule": DELTA_RULE,
    "Llama 3 8B": LLAMA_3,
    "Grouped queries": """Axes(t=seq(12), s=seq(12), m=64, g=2, q=4, k=16)(
    Linear("t m -> t g q k", "Q") @ (Linear("s m -> s g k", "K") @ Linear("s m -> s g k", "V"))
    >> Einsum("t g q k, s g k -> t s g q") >> Scale("k") >> Softmax("s")
    >> Einsum("t s g q, s g k -> t g q k") >> Linear("g q k -> m", "O")
)""",
}
