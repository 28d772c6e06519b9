"""Sources with one silent fault each in how modules are put together."""

from __future__ import annotations

from tests.findings.silent.planted import planted

CASES = (
    planted(
        "plain list",
        """
        class Deep(nn.Module):
            def __init__(self, depth=3):
                super().__init__()
                self.layers = [nn.Linear(8, 8) for _ in range(depth)]  #!
                self.head = nn.Linear(8, 2)
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x).relu()
                return self.head(x)
        Deep()(torch.randn(4, 8))""",
        "layers is a plain list: its 3 layers are no part of the model",
        "self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(depth)])",
    ),
    planted(
        "plain list",
        """
        class Grown(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = []  #!
                for width in (8, 16):
                    self.blocks.append(nn.Linear(width, 2 * width))
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        Grown()(torch.randn(4, 8))""",
        "blocks is a plain list: its 2 layers are no part of the model",
        "self.blocks = nn.ModuleList([])",
    ),
    planted(
        "plain list",
        """
        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(8, 16)
                self.heads = {"age": nn.Linear(16, 1), "kind": nn.Linear(16, 4)}  #!
            def forward(self, x):
                x = self.body(x)
                return [head(x) for head in self.heads.values()]
        Heads()(torch.randn(4, 8))""",
        "heads is a plain dict: its 2 layers are no part of the model",
        'self.heads = nn.ModuleDict({"age": nn.Linear(16, 1), "kind": nn.Linear(16, 4)})',
    ),
    planted(
        "one layer in several places",
        """
        class Stack(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(8, 8)] * 3)  #!
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x).tanh()
                return x
        Stack()(torch.randn(4, 8))""",
        "layers.0, layers.1 and layers.2 are one and the same Linear",
        "self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])",
    ),
    planted(
        "one layer in several places",
        """
        class Block(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.fc = nn.Linear(d, d)
            def forward(self, x):
                return x + self.fc(x).relu()
        class Net(nn.Module):
            def __init__(self, d=8):
                super().__init__()
                block = Block(d)
                self.blocks = nn.Sequential(*[block for _ in range(4)])  #!
            def forward(self, x):
                return self.blocks(x)
        Net()(torch.randn(4, 8))""",
        "blocks.0 to blocks.2 and blocks.3 are one and the same Block",
        "self.blocks = nn.Sequential(*[Block(d) for _ in range(4)])",
    ),
    planted(
        "one layer in several places",
        """
        class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.left = self.right = nn.Linear(8, 4)  #!
            def forward(self, x):
                return self.left(x) * self.right(x).sigmoid()
        Pair()(torch.randn(4, 8))""",
        "left and right are one and the same Linear",
        "self.left = nn.Linear(8, 4)",
    ),
    planted(
        "never used",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1 = nn.Linear(8, 8)
                self.fc2 = nn.Linear(8, 8)  #!
                self.fc3 = nn.Linear(8, 2)
            def forward(self, x):
                x = self.fc1(x).relu()
                x = self.fc1(x).relu()
                return self.fc3(x)
        Net()(torch.randn(4, 8))""",
        "fc2 (Linear) is never used: it is made with its 72 parameters, and no line calls it",
    ),
    planted(
        "never used",
        """
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 8)
                self.gain = nn.Parameter(torch.ones(8))  #!
            def forward(self, x):
                return self.fc(x)
        Scaled()(torch.randn(4, 8))""",
        "gain, a parameter of 8, is never used",
    ),
    planted(
        "never used",
        """
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(8, 8, 3, padding=1)
                self.drop = nn.Dropout(0.1)  #!
            def forward(self, x):
                return x + self.conv(x).relu()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.Sequential(Block(), Block())
            def forward(self, x):
                return self.blocks(x)
        Net()(torch.randn(1, 8, 6, 6))""",
        "blocks.0.drop (Dropout) is never used",
    ),
    planted(
        "typo axis",
        """
        class Scores(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k = nn.Linear(16, 16), nn.Linear(16, 16)
            def forward(self, x):
                return torch.einsum("bid,bje->bij", self.q(x), self.k(x))  #!
        Scores()(torch.randn(2, 5, 16))""",
        "d and e of the einsum stand once each and not in its result",
        'return torch.einsum("bid,bjd->bij", self.q(x), self.k(x))',
    ),
    planted(
        "typo axis",
        """
        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.randn(16, 4))
            def forward(self, x):
                return torch.einsum('b n d, m h -> b n h', x, self.w)  #!
        Mixed()(torch.randn(2, 5, 16))""",
        "d and m of the einsum stand once each and not in its result",
        "return torch.einsum('b n d, d h -> b n h', x, self.w)",
    ),
    planted(
        "typo axis",
        """
        class Block(nn.Module):
            def __init__(self, width, dropout=0.0, **kwargs):
                super().__init__()
                self.fc, self.drop = nn.Linear(width, width), nn.Dropout(dropout)
            def forward(self, x):
                return self.drop(self.fc(x))
        net = Block(8, droput=0.5)  #!
        net(torch.randn(4, 8))""",
        "droput has no effect: Block takes it by **kwargs, and never reads that",
        "net = Block(8, dropout=0.5)",
    ),
    planted(
        "lost result",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 2)
            def forward(self, x):
                x = self.a(x)
                F.relu(x)  #!
                return self.b(x)
        Net()(torch.randn(4, 8))""",
        "The result of relu is not used",
        "x = F.relu(x)",
    ),
    planted(
        "lost result",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
            def forward(self, x):
                x = self.a(x)
                self.norm(x)  #!
                return x
        Net()(torch.randn(4, 8))""",
        "The result of norm is not used",
        "x = self.norm(x)",
    ),
    planted(
        "lost result",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(8, 8)
            def forward(self, x):
                h = self.a(x)
                h.clamp(min=0)  #!
                return h + x
        Net()(torch.randn(4, 8))""",
        "The result of clamp is not used",
        "h = h.clamp(min=0)",
    ),
    planted(
        "plain array",
        """
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.gain = torch.ones(8, requires_grad=True)  #!
            def forward(self, x):
                return x * self.gain
        Scaled()(torch.randn(4, 8))""",
        "gain asks for gradients, but is a plain array",
        "self.gain = nn.Parameter(torch.ones(8, requires_grad=True))",
    ),
    planted(
        "plain array",
        """
        class Linear(nn.Module):
            def __init__(self, d_in=8, d_out=3):
                super().__init__()
                self.weight = torch.randn(d_out, d_in, requires_grad=True)  #!
                self.bias = nn.Parameter(torch.zeros(d_out))
            def forward(self, x):
                return F.linear(x, self.weight, self.bias)
        Linear()(torch.randn(4, 8))""",
        "weight asks for gradients, but is a plain array",
        "self.weight = nn.Parameter(torch.randn(d_out, d_in, requires_grad=True))",
    ),
    planted(
        "plain array",
        """
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.shift = torch.zeros(1, 8, requires_grad=True)  #!
            def forward(self, x):
                return x + self.shift
        class Outer(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Sequential(nn.Linear(4, 8), Inner())
            def forward(self, x):
                return self.net(x)
        Outer()(torch.randn(2, 4))""",
        "net.1.shift asks for gradients",
        "self.shift = nn.Parameter(torch.zeros(1, 8, requires_grad=True))",
    ),
    planted(
        "trained in evaluation",
        """
        model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 2))
        optimizer = torch.optim.Adam(model.parameters())
        x, y = torch.randn(20, 8), torch.randint(0, 2, (20,))
        for epoch in range(5):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            model.eval()  #!
            right = (model(x).argmax(1) == y).sum()
        """,
        "model.eval() is never undone in the loop: from its second turn on BatchNorm1d is silent",
        "model.train()",
    ),
    planted(
        "trained in evaluation",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.drop = nn.Linear(8, 2), nn.Dropout(0.5)
            def forward(self, x):
                return self.fc(self.drop(x))
        def train(net, loader, other, epochs):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for epoch in range(epochs):
                for x, y in loader:
                    F.cross_entropy(net(x), y).backward()
                    optimizer.step()
                net.eval()  #!
                for x, y in other:
                    net(x)
        6x8""",
        "net.eval() is never undone in the loop: from its second turn on Dropout is silent",
        "net.train()",
    ),
    planted(
        "trained in evaluation",
        """
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
                self.drop = nn.Dropout()
            def forward(self, x):
                return self.drop(self.norm(self.conv(x)))
        model = Both()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        step = 0
        while step < 3:
            model.eval()  #!
            loss = model(torch.randn(2, 3, 8, 8)).mean()
            loss.backward()
            optimizer.step()
            step += 1
        model(torch.randn(2, 3, 8, 8))""",
        "BatchNorm2d and Dropout are silent while it trains",
        "model.train()",
    ),
    planted(
        "one layer in several places",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                layer = nn.Linear(8, 8)
                self.a = layer
                self.b = layer  #!
            def forward(self, x):
                return self.b(self.a(x).relu())
        Net()(torch.randn(4, 8))""",
        "a and b are one and the same Linear",
        "self.b = nn.Linear(8, 8)",
    ),
    planted(
        "attention over the batch",
        """
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.q, self.k = nn.Linear(16, 16), nn.Linear(16, 16)
            def forward(self, x):
                b, t, d = x.shape
                q, k = self.q(x).transpose(0, 1), self.k(x).transpose(0, 1)
                w = (q @ k.transpose(1, 2)).softmax(-1)  #!
                return (w @ x.transpose(0, 1)).transpose(0, 1)
        Own()(torch.randn(8, 10, 16))""",
        "softmax runs over axis 2 of 10 × 8 × 8, scores of the batch against itself",
    ),
)
