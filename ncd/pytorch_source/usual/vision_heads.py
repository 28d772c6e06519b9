"""Further layers of timm, such as its heads and relative positions, as a source."""

from __future__ import annotations

HEADS = """
def get_norm_act_layer(norm_layer, act_layer=None):
    if norm_layer is None or not isinstance(norm_layer, str):
        return norm_layer
    if norm_layer.startswith("batchnorm"):
        return BatchNormAct2d
    return lambda width, apply_act=True, **named: nn.Sequential(
        get_norm_layer(norm_layer)(width), get_act_layer(act_layer or "relu")())

def create_norm_act_layer(norm_layer, num_features, act_layer=None, apply_act=True, **named):
    return get_norm_act_layer(norm_layer, act_layer)(num_features, apply_act=apply_act)

def create_norm_layer(norm_layer, num_features, **named):
    return get_norm_layer(norm_layer)(num_features)

def get_padding(kernel_size=7, stride=1, dilation=1, **named):
    if isinstance(kernel_size, (list, tuple)):
        return [get_padding(each, stride, dilation) for each in kernel_size]
    return (stride - 1 + dilation * (kernel_size - 1)) // 2

def create_aa(aa_layer, channels=None, stride=2, enable=True, noop=nn.Identity, **named):
    if not aa_layer or not enable:
        return noop() if noop is not None else None
    return nn.AvgPool2d(stride)

def create_attn(attn_type, channels, **named):
    return SEModule(channels) if attn_type else None

def get_attn(attn_type):
    return SEModule if attn_type else None

class LayerScale2d(nn.Module):
    def __init__(self, dim, init_values=1e-5, inplace=False, **named):
        super().__init__()
        self.gamma = nn.Parameter(init_values * torch.ones(dim))
    def forward(self, x):
        return x * self.gamma.view(1, -1, 1, 1)

class GlobalResponseNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, channels_last=True, **named):
        super().__init__()
        self.eps, self.last = eps, channels_last
        self.weight = nn.Parameter(torch.zeros(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
    def forward(self, x):
        places, shape = ((1, 2), (1, 1, 1, -1)) if self.last else ((2, 3), (1, -1, 1, 1))
        g = x.norm(p=2, dim=places, keepdim=True)
        n = g / (g.mean(dim=-1 if self.last else 1, keepdim=True) + self.eps)
        return x + self.bias.view(shape) + self.weight.view(shape) * (x * n)

class NormMlpClassifierHead(nn.Module):
    def __init__(self, in_features, num_classes, hidden_size=None, pool_type="avg", drop_rate=0.0,
                 norm_layer="layernorm2d", act_layer="tanh", **named):
        super().__init__()
        self.pool_type, self.num_features = pool_type, hidden_size or in_features
        self.norm = get_norm_layer(norm_layer)(in_features)
        self.pre_logits = nn.Identity()
        if hidden_size:
            self.pre_logits = nn.Sequential(
                nn.Linear(in_features, hidden_size), get_act_layer(act_layer)())
        self.drop = nn.Dropout(drop_rate)
        self.fc = nn.Linear(self.num_features, num_classes) if num_classes > 0 else nn.Identity()
    def pooled(self, x):
        return self.norm(SelectAdaptivePool2d(pool_type=self.pool_type)(x)).flatten(1)
    def forward(self, x, pre_logits=False):
        x = self.pre_logits(self.pooled(x))
        return x if pre_logits else self.fc(self.drop(x))

class ClNormMlpClassifierHead(NormMlpClassifierHead):
    def __init__(self, *sizes, norm_layer="layernorm", act_layer="gelu", **named):
        super().__init__(*sizes, norm_layer=norm_layer, act_layer=act_layer, **named)
    def pooled(self, x):
        return self.norm(x.mean((1, 2)) if self.pool_type == "avg" else x)

class RelPosMlp(nn.Module):
    def __init__(self, window_size, num_heads=8, hidden_dim=128, prefix_tokens=0, **named):
        super().__init__()
        self.window_size, self.num_heads = window_size, num_heads
        self.window_area = window_size[0] * window_size[1]
        self.prefix_tokens = prefix_tokens
        self.mlp = Mlp(2, hidden_features=hidden_dim, out_features=num_heads, act_layer=nn.ReLU)
        sides = [2 * n - 1 for n in window_size]
        self.register_buffer("table", torch.zeros(sides[0] * sides[1], 2))
        places = torch.zeros(self.window_area * self.window_area, dtype=torch.long)
        self.register_buffer("places", places)
    def get_bias(self):
        bias = self.mlp(self.table)[self.places]
        bias = bias.view(self.window_area, self.window_area, -1).permute(2, 0, 1)
        bias = 16 * torch.sigmoid(bias)
        if self.prefix_tokens:
            bias = nn.functional.pad(bias, [self.prefix_tokens, 0, self.prefix_tokens, 0])
        return bias.unsqueeze(0)
    def forward(self, scores, shared_rel_pos=None):
        return scores + self.get_bias()

class RelPosBias(nn.Module):
    def __init__(self, window_size, num_heads, prefix_tokens=0, **named):
        super().__init__()
        self.window_area = window_size[0] * window_size[1]
        self.tokens = self.window_area + prefix_tokens
        rows = (2 * window_size[0] - 1) * (2 * window_size[1] - 1) + 3 * prefix_tokens
        self.relative_position_bias_table = nn.Parameter(torch.zeros(rows, num_heads))
        places = torch.zeros(self.tokens * self.tokens, dtype=torch.long)
        self.register_buffer("places", places)
    def get_bias(self):
        bias = self.relative_position_bias_table[self.places]
        return bias.view(self.tokens, self.tokens, -1).permute(2, 0, 1).unsqueeze(0)
    def forward(self, scores, shared_rel_pos=None):
        return scores + self.get_bias()
"""
