"""Sources with known sizes, and with numbers that are equal only by luck."""

from __future__ import annotations

PATCHES = """class Net(nn.Module):
    def __init__(self, img_size=64, patch_size=16, dim=48, heads=4, num_classes=10):
        super().__init__()
        self.patch_size = patch_size
        self.proj = nn.Conv2d(3, dim, patch_size, stride=patch_size)
        self.pos = nn.Parameter(torch.zeros(1, (img_size // patch_size) ** 2, dim))
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.head = nn.Linear(dim, num_classes)
    def forward(self, x):
        x = self.proj(x).flatten(2).transpose(1, 2) + self.pos
        x = x + self.attn(x, x, x)[0]
        return self.head(x.mean(1))
2x3x64x64"""

U_NET = """class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
    def forward(self, x):
        return self.net(x)
class Net(nn.Module):
    def __init__(self, width=8, classes=2):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList([Block(3, width), Block(width, 2 * width)])
        self.mid = Block(2 * width, 4 * width)
        up = nn.ConvTranspose2d
        self.up = nn.ModuleList([up(4 * width, 2 * width, 2, 2), up(2 * width, width, 2, 2)])
        self.merge = nn.ModuleList([Block(4 * width, 2 * width), Block(2 * width, width)])
        self.last = nn.Conv2d(width, classes, 1)
    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = self.pool(x)
        x = self.mid(x)
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], dim=1))
        return self.last(x)
1x3x64x64"""

EINOPS = """from einops import rearrange
class Net(nn.Module):
    def __init__(self, dim=48, heads=6, p=4):
        super().__init__()
        self.heads, self.p = heads, p
        self.embed = nn.Linear(3 * p * p, dim)
        self.qkv = nn.Linear(dim, 3 * dim)
    def forward(self, x):
        x = rearrange(x, 'b c (h p1) (w p2) -> b (h w) (c p1 p2)', p1=self.p, p2=self.p)
        q, k, v = self.qkv(self.embed(x)).chunk(3, -1)
        q, k, v = (rearrange(y, 'b n (h d) -> b h n d', h=self.heads) for y in (q, k, v))
        y = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return rearrange(y, 'b h n d -> b n (h d)')
2x3x16x20"""

RECURRENT = """class Net(nn.Module):
    def __init__(self, vocab=100, emb=16, hidden=32, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, tags)
    def forward(self, x):
        y, _ = self.lstm(self.embed(x))
        return self.fc(y)
4x12#100"""

GROUPED = """class Net(nn.Module):
    def __init__(self, width=32, groups=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)
        self.conv = nn.Conv2d(width, width, 3, groups=groups)
    def forward(self, x):
        return self.conv(self.norm(self.stem(x)))
1x3x20x24"""

WRONG_WIDTH = """class Net(nn.Module):
    def __init__(self, d_in=64, d_hidden=64, d_out=10):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.fc2 = nn.Linear(d_in, d_out)
    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))
8x64"""

LITERAL = """class Net(nn.Module):
    def __init__(self, dim=64, out=10):
        super().__init__()
        self.fc1 = nn.Linear(32, dim)
        self.norm = nn.LayerNorm(64)
        self.fc2 = nn.Linear(dim, out)
    def forward(self, x):
        return self.fc2(self.norm(self.fc1(x)))
8x32"""

VALUE_WIDTH = """class Net(nn.Module):
    def __init__(self, d_model=32, heads=4, d_k=8, d_v=8):
        super().__init__()
        self.h, self.d_k, self.d_v = heads, d_k, d_v
        self.q = nn.Linear(d_model, heads * d_k)
        self.k = nn.Linear(d_model, heads * d_k)
        self.v = nn.Linear(d_model, heads * d_v)
        self.o = nn.Linear(heads * d_v, d_model)
    def forward(self, x):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, self.h, self.d_k).transpose(1, 2)
        k = self.k(x).view(b, t, self.h, self.d_k).transpose(1, 2)
        v = self.v(x).view(b, t, self.h, self.d_k).transpose(1, 2)
        y = torch.softmax(q @ k.transpose(-2, -1) / self.d_k ** 0.5, -1) @ v
        return self.o(y.transpose(1, 2).reshape(b, t, self.h * self.d_v))
2x12x32"""

RESIDUAL = """class Net(nn.Module):
    def __init__(self, d_in=64, d_hidden=128, d_out=64):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.fc2 = nn.Linear(d_hidden, d_out)
    def forward(self, x):
        return x + self.fc2(F.relu(self.fc1(x)))
Net()(torch.randn(8, 64))"""

SQUARE = """class Net(nn.Module):
    def __init__(self, h=28, w=28, classes=10):
        super().__init__()
        self.conv = nn.Conv2d(1, 32, 3, padding=1)
        self.fc = nn.Linear(32 * h * h, classes)
    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))
4x1x28x28"""

SQUARE_VIEW = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.mix = nn.Conv2d(8, 8, 1)
    def forward(self, x):
        x = self.conv(x)
        b, c, h, w = x.shape
        y = x.flatten(2)
        y = y.softmax(-1).view(b, c, h, h)
        return self.mix(y)
2x3x16x16"""

MASK = """class Net(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x, y):
        t, s = x.size(1), y.size(1)
        mask = torch.tril(torch.ones(t, t)).bool()
        scores = self.q(x) @ self.k(y).transpose(1, 2) / 32 ** 0.5
        return scores.masked_fill(~mask, -1e9).softmax(-1) @ self.v(y)
2x12x32, 2x12x32"""

HEAD_COUNT = """class Net(nn.Module):
    def __init__(self, d_model=64, heads=8):
        super().__init__()
        self.heads, self.head_dim = heads, d_model // heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (y.view(b, t, self.heads, self.heads).transpose(1, 2) for y in (q, k, v))
        y = (q @ k.transpose(-2, -1)).softmax(-1) @ v
        return y.transpose(1, 2).reshape(b, t, d)
2x10x64"""

FLATTENED = """class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc = nn.Linear(16 * 5 * 5, classes)
    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(torch.flatten(x, 1))
4x1x28x28"""

POSITIONS = """class Net(nn.Module):
    def __init__(self, vocab=50, width=32, heads=4, context=24):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.layer = nn.TransformerEncoderLayer(width, heads, 64, batch_first=True)
        self.head = nn.Linear(width, vocab)
    def forward(self, ids):
        b, t = ids.shape
        x = self.words(ids) + self.places(torch.arange(t))
        return self.head(self.layer(x))
2x16#50"""

RIGHT_WIDTH = WRONG_WIDTH.replace("Linear(d_in, d_out)", "Linear(d_hidden, d_out)")

INDEXED = """class Net(nn.Module):
    def __init__(self, rows=4, width=5):
        super().__init__()
        self.fc1 = nn.Linear(3, width)
        self.fc2 = nn.Linear(width, rows)
    def forward(self, x):
        return self.fc2(self.fc1(x[:, 2]))
2x4x3"""

SPLIT = """class Net(nn.Module):
    def __init__(self, outs=2, parts=2):
        super().__init__()
        self.parts = parts
        self.fc = nn.Linear(6, outs)
    def forward(self, x):
        y = rearrange(self.fc(x), "b (r s) -> b r s", s=self.parts)
        return y.relu()
3x6"""

# What is said about each, in order: the line, and the sentence.
SIZES: dict[str, tuple[str, list[tuple[int, str]]]] = {
    "patch embedding": (
        PATCHES,
        [
            (0, "Batch is free."),
            (5, "Channels must be 3."),
            (10, "Height and width must both be 64 to 79, as `img_size` is 64."),
            (2, "`dim` must be divisible by `heads` (4)."),
            (0, "`num_classes` is free."),
        ],
    ),
    "U-Net with skips": (
        U_NET,
        [
            (0, "Batch is free."),
            (4, "Channels must be 3."),
            (25, "Height and width must be divisible by 4, from 4 up: 68 × 72 works."),
            (0, "`width` and `classes` are free."),
        ],
    ),
    "CNN with flatten": (
        FLATTENED,
        [
            (0, "Batch is free."),
            (4, "Channels must be 1."),
            (5, "Height and width must be 28 to 31."),
            (0, "`classes` is free."),
        ],
    ),
    "transformer with positions": (
        POSITIONS,
        [
            (0, "`b` is free."),
            (4, "`t` must be at most 24, as `context` is 24."),
            (2, "`width` must be divisible by `heads` (4)."),
            (0, "`vocab` is free."),
        ],
    ),
    "LSTM": (
        RECURRENT,
        [
            (0, "Batch and length are free."),
            (0, "`vocab`, `emb`, `hidden` and `tags` are free."),
        ],
    ),
    "grouped convolution": (
        GROUPED,
        [
            (0, "Batch is free."),
            (6, "Height and width must be at least 3."),
            (4, "Channels must be 3."),
            (2, "`width` must be divisible by `groups` (8)."),
        ],
    ),
    "einops split": (
        EINOPS,
        [
            (0, "Batch is free."),
            (6, "Channels must be 3."),
            (9, "Height and width must be divisible by 4, from 4 up: 20 × 28 works."),
            (3, "`dim` must be divisible by `heads` (6)."),
        ],
    ),
    "widths that are right": (
        RIGHT_WIDTH,
        [
            (0, "Batch is free."),
            (4, "Features must be 64, as `d_in` is 64."),
            (0, "`d_in`, `d_hidden` and `d_out` are free."),
        ],
    ),
    "a least size of no parameter": (
        INDEXED,
        [
            (0, "Axis 0 is free."),
            (7, "Axis 1 must be at least 3."),
            (4, "Axis 2 must be 3."),
            (0, "`rows` and `width` are free."),
        ],
    ),
    "a number that another divides": (
        SPLIT,
        [(0, "Batch is free."), (5, "Features must be 6.")],
    ),
    "a residual keeps its width": (
        RESIDUAL,
        [
            (0, "Batch is free."),
            (4, "Features must be 64, as `d_in` is 64."),
            (4, "`d_in` must equal `d_out` (both are 64)."),
            (0, "`d_hidden` is free."),
        ],
    ),
}

# Numbers that are equal by luck: the line, the sentence, the cured line, and what to replace
# so that they differ: then the cured source runs, and the one before does not.
LUCK: dict[str, tuple[str, int, str, str, dict[str, str]]] = {
    "d_in for d_hidden": (
        WRONG_WIDTH,
        5,
        "Works only while `d_in` = `d_hidden` (both are 64).",
        "self.fc2 = nn.Linear(d_hidden, d_out)",
        {"d_hidden=64": "d_hidden=96"},
    ),
    "a number for a parameter": (
        LITERAL,
        5,
        "Works only while `dim` is 64, as line 5 has that number.",
        "self.norm = nn.LayerNorm(dim)",
        {"dim=64": "dim=48"},
    ),
    "d_k for d_v": (
        VALUE_WIDTH,
        13,
        "Works only while `d_k` = `d_v` (both are 8).",
        "v = self.v(x).view(b, t, self.h, self.d_v).transpose(1, 2)",
        {"d_v=8": "d_v=5"},
    ),
    "height for width": (
        SQUARE,
        5,
        "Works only while height = width: `h` is both.",
        "self.fc = nn.Linear(32 * h * w, classes)",
        {"28x28": "28x20", "w=28": "w=20"},
    ),
    "height for width in a view": (
        SQUARE_VIEW,
        10,
        "Works only while height = width.",
        "y = y.softmax(-1).view(b, c, h, w)",
        {"2x3x16x16": "2x3x16x12"},
    ),
    "one length for another": (
        MASK,
        7,
        "Works only while length of `x` = length of `y`.",
        "mask = torch.tril(torch.ones(t, s)).bool()",
        {"2x12x32, 2x12x32": "2x12x32, 2x7x32"},
    ),
    "heads for a head's width": (
        HEAD_COUNT,
        9,
        "Works only while `d_model` = `heads` · `heads`.",
        "q, k, v = (y.view(b, t, self.heads, self.head_dim).transpose(1, 2) for y in (q, k, v))",
        {"heads=8": "heads=4"},
    ),
}
