"""Layers of timm, torchvision and transformers on which many sources are built, as sources.

They are written here as a source, as those of ``usual_parts.py`` are.
"""

from __future__ import annotations

# --- Activations by their names, as in transformers, and layers of parallel libraries: as sources

ACTIVATIONS = """
ACT2CLS = {
    "relu": nn.ReLU, "gelu": nn.GELU, "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "silu": nn.SiLU, "swish": nn.SiLU,
    "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "mish": nn.Mish, "elu": nn.ELU,
    "leaky_relu": nn.LeakyReLU, "hard_swish": nn.Hardswish, "hard_sigmoid": nn.Hardsigmoid,
    "gelu_new": lambda: nn.GELU(approximate="tanh"), "relu6": nn.ReLU6, "prelu": nn.PReLU,
}
ACT2FN = {name: kind() for name, kind in ACT2CLS.items()}
ACT2FN["gelu_pytorch_tanh"] = nn.GELU(approximate="tanh")

def activation_class(name):
    kinds = {key.replace("_", ""): kind for key, kind in ACT2CLS.items()}
    return kinds[name.lower().replace("_", "")]

def get_activation(name):
    return activation_class(name)()
"""
PARALLEL = """
class ColumnParallelLinear(nn.Linear):
    def __init__(self, in_features, out_features, bias=True, **named):
        super().__init__(in_features, out_features, bias=bias)

class RowParallelLinear(ColumnParallelLinear):
    pass

class VocabParallelEmbedding(nn.Embedding):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, **named):
        super().__init__(num_embeddings, embedding_dim, padding_idx=padding_idx)

class ParallelEmbedding(VocabParallelEmbedding):
    pass

def get_model_parallel_world_size():
    return 1

def get_model_parallel_rank():
    return 0
"""


# --- Further layers of timm, such as its heads and relative positions, as a source

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
    sizes = (kernel_size, stride, dilation)
    if any(isinstance(one, (list, tuple)) for one in sizes):
        return [get_padding(*one) for one in zip(*(to_2tuple(one) for one in sizes))]
    return (stride - 1 + dilation * (kernel_size - 1)) // 2

def pad_same(x, kernel_size, stride, value=0.0):
    sides = zip(x.shape[-2:], to_2tuple(kernel_size), to_2tuple(stride))
    high, wide = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in sides]
    return nn.functional.pad(
        x, [wide // 2, wide - wide // 2, high // 2, high - high // 2], value=value)

class AvgPool2dSame(nn.Module):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False,
                 count_include_pad=True, **named):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride or kernel_size
        self.settings = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
    def forward(self, x):
        x = pad_same(x, self.kernel_size, self.stride)
        return nn.functional.avg_pool2d(x, self.kernel_size, self.stride, 0, **self.settings)

class MaxPool2dSame(nn.Module):
    def __init__(self, kernel_size, stride=None, padding=0, **named):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride or kernel_size
    def forward(self, x):
        x = pad_same(x, self.kernel_size, self.stride, -math.inf)
        return nn.functional.max_pool2d(x, self.kernel_size, self.stride)

def create_pool2d(pool_type, kernel_size, stride=None, padding="", **named):
    stride = stride or kernel_size
    if padding == "same" and stride != 1:
        kind = AvgPool2dSame if pool_type == "avg" else MaxPool2dSame
        return kind(kernel_size, stride=stride, **named)
    if isinstance(padding, str):
        padding = 0 if padding == "valid" else get_padding(kernel_size, stride)
    kind = nn.AvgPool2d if pool_type == "avg" else nn.MaxPool2d
    return kind(kernel_size, stride=stride, padding=padding, **named)

class EffectiveSEModule(nn.Module):
    def __init__(self, channels, add_maxpool=False, gate_layer="hard_sigmoid", **named):
        super().__init__()
        self.add_maxpool = add_maxpool
        self.fc = nn.Conv2d(channels, channels, kernel_size=1)
        self.gate = get_act_layer(gate_layer)()
    def forward(self, x):
        scale = x.mean((2, 3), keepdim=True)
        if self.add_maxpool:
            scale = 0.5 * scale + 0.5 * x.amax((2, 3), keepdim=True)
        return x * self.gate(self.fc(scale))

EffectiveSqueezeExcite = EffectiveSEModule

class PatchDropout(nn.Identity):
    pass

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
    def __init__(self, *sizes, norm_layer="layernorm", act_layer="gelu", input_fmt="NHWC", **named):
        super().__init__(*sizes, norm_layer=norm_layer, act_layer=act_layer, **named)
        self.sides = 1 if input_fmt == "NLC" else (1, 2)
    def pooled(self, x):
        return self.norm(x.mean(self.sides) if self.pool_type == "avg" else x)

class RelPosMlp(nn.Module):
    def __init__(self, window_size, num_heads=8, hidden_dim=128, prefix_tokens=0, mode="cr",
                 **named):
        super().__init__()
        self.window_size, self.num_heads = window_size, num_heads
        self.window_area = window_size[0] * window_size[1]
        self.prefix_tokens = prefix_tokens
        self.swin = mode == "swin"
        self.mlp = Mlp(2, hidden_features=hidden_dim, out_features=num_heads, act_layer=nn.ReLU,
                       bias=(True, not self.swin), drop=(0.125, 0.0))
        sides = [2 * n - 1 for n in window_size]
        self.register_buffer("table", torch.zeros(sides[0] * sides[1], 2))
        places = torch.zeros(self.window_area * self.window_area, dtype=torch.long)
        self.register_buffer("places", places)
    def get_bias(self):
        bias = self.mlp(self.table)[self.places]
        bias = bias.view(self.window_area, self.window_area, -1).permute(2, 0, 1)
        if self.swin:
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


# --- Layers of timm, on which many sources are built

VISION = """
class Linear(nn.Linear):
    pass

def get_device_dtype(module):
    return {}

def rotate_pairs(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(x.shape)

def apply_rot_embed_cat(x, emb, half=False):
    sine, cosine = emb.chunk(2, -1)
    if sine.ndim == 3:
        sine, cosine = sine.unsqueeze(1), cosine.unsqueeze(1)
    turned = torch.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), -1)
    return x * cosine + (turned if half else rotate_pairs(x)) * sine

def get_act_layer(name="relu"):
    return activation_class(name) if isinstance(name, str) else name

def create_act_layer(name, inplace=None, **named):
    return get_act_layer(name)()

def get_norm_layer(name=None):
    kinds = {"batchnorm": nn.BatchNorm2d, "batchnorm2d": nn.BatchNorm2d, "layernorm": LayerNorm,
             "layernorm2d": LayerNorm2d, "rmsnorm": RmsNorm, "rmsnorm2d": RmsNorm2d,
             "groupnorm": GroupNorm1}
    return kinds[name.replace("_", "").lower()] if isinstance(name, str) else name

class Format:
    NCHW, NHWC, NCL, NLC = "NCHW", "NHWC", "NCL", "NLC"

class PatchEmbed(nn.Module):
    def __init__(self, img_size=224, patch_size=16, in_chans=3, embed_dim=768, norm_layer=None,
                 flatten=True, output_fmt=None, bias=True, strict_img_size=True,
                 dynamic_img_pad=False, **named):
        super().__init__()
        self.patch_size = to_2tuple(patch_size)
        self.img_size = None if img_size is None else to_2tuple(img_size)
        if img_size is not None:
            sides = tuple(n // p for n, p in zip(self.img_size, self.patch_size))
            self.grid_size = self.patches_resolution = sides
            self.num_patches = sides[0] * sides[1]
        self.flatten = flatten and output_fmt != "NHWC"
        self.last = output_fmt == "NHWC"
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size,
                              bias=bias)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()
    def feat_ratio(self, as_scalar=True):
        return max(self.patch_size) if as_scalar else self.patch_size
    def forward(self, x):
        x = self.proj(x)
        if self.flatten:
            x = x.flatten(2).transpose(1, 2)
        if self.last:
            x = x.permute(0, 2, 3, 1)
        return self.norm(x)

class Mlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.GELU,
                 norm_layer=None, bias=True, drop=0.0, use_conv=False, **named):
        super().__init__()
        hidden, out = hidden_features or in_features, out_features or in_features
        layer = (lambda a, b, bias: nn.Conv2d(a, b, 1, bias=bias)) if use_conv else nn.Linear
        first, second = to_2tuple(bias)
        self.fc1 = layer(in_features, hidden, bias=first)
        self.act = act_layer()
        self.drop1 = nn.Dropout(to_2tuple(drop)[0])
        self.norm = norm_layer(hidden) if norm_layer is not None else nn.Identity()
        self.fc2 = layer(hidden, out, bias=second)
        self.drop2 = nn.Dropout(to_2tuple(drop)[1])
    def forward(self, x):
        return self.drop2(self.fc2(self.norm(self.drop1(self.act(self.fc1(x))))))

class ConvMlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.ReLU,
                 norm_layer=None, bias=True, drop=0.0, **named):
        super().__init__()
        hidden, out = hidden_features or in_features, out_features or in_features
        self.fc1 = nn.Conv2d(in_features, hidden, kernel_size=1, bias=to_2tuple(bias)[0])
        self.norm = norm_layer(hidden) if norm_layer else nn.Identity()
        self.act = act_layer()
        self.drop = nn.Dropout(drop)
        self.fc2 = nn.Conv2d(hidden, out, kernel_size=1, bias=to_2tuple(bias)[1])
    def forward(self, x):
        return self.fc2(self.drop(self.act(self.norm(self.fc1(x)))))

class GluMlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.Sigmoid,
                 norm_layer=None, bias=True, drop=0.0, use_conv=False, gate_last=True, **named):
        super().__init__()
        out, hidden = out_features or in_features, hidden_features or in_features
        self.gate_last, self.chunk_dim = gate_last, 1 if use_conv else -1
        layer = (lambda a, b, bias: nn.Conv2d(a, b, 1, bias=bias)) if use_conv else nn.Linear
        self.fc1 = layer(in_features, hidden, bias=to_2tuple(bias)[0])
        self.act = act_layer()
        self.drop1 = nn.Dropout(to_2tuple(drop)[0])
        self.norm = norm_layer(hidden // 2) if norm_layer is not None else nn.Identity()
        self.fc2 = layer(hidden // 2, out, bias=to_2tuple(bias)[1])
        self.drop2 = nn.Dropout(to_2tuple(drop)[1])
    def forward(self, x):
        one, two = self.fc1(x).chunk(2, dim=self.chunk_dim)
        x = one * self.act(two) if self.gate_last else self.act(one) * two
        return self.drop2(self.fc2(self.norm(self.drop1(x))))

class Attention(nn.Module):
    def __init__(self, dim, num_heads=8, qkv_bias=False, qk_norm=False, proj_bias=True,
                 attn_drop=0.0, proj_drop=0.0, norm_layer=nn.LayerNorm, **named):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.q_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.k_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.proj_drop = nn.Dropout(proj_drop)
    def forward(self, x, attn_mask=None, **named):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q, k = self.q_norm(q) * self.head_dim ** -0.5, self.k_norm(k)
        scores = q @ k.transpose(-2, -1)
        scores = scores if attn_mask is None else scores + attn_mask
        x = self.attn_drop(scores.softmax(dim=-1)) @ v
        return self.proj_drop(self.proj(x.transpose(1, 2).reshape(b, n, c)))

class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-5, inplace=False, **named):
        super().__init__()
        self.gamma = nn.Parameter(init_values * torch.ones(dim))
    def forward(self, x):
        return x * self.gamma

class LayerNorm(nn.LayerNorm):
    def __init__(self, num_channels, eps=1e-6, affine=True, **named):
        super().__init__(num_channels, eps=eps, elementwise_affine=affine)

class LayerNorm2d(nn.LayerNorm):
    def __init__(self, num_channels, eps=1e-6, affine=True, **named):
        super().__init__(num_channels, eps=eps, elementwise_affine=affine)
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

class RmsNorm(nn.RMSNorm):
    def __init__(self, channels, eps=1e-6, affine=True, **named):
        super().__init__(channels, eps=eps, elementwise_affine=affine)

class RmsNorm2d(RmsNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

class GroupNorm1(nn.GroupNorm):
    def __init__(self, num_channels, **named):
        super().__init__(1, num_channels, **named)

class BatchNormAct2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, apply_act=True,
                 act_layer=nn.ReLU, inplace=True, drop_layer=None, **named):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features, eps=eps)
        self.act = get_act_layer(act_layer)() if apply_act and act_layer else nn.Identity()
    def forward(self, x):
        return self.act(self.bn(x))

class ConvNormAct(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=1, stride=1, padding=None, dilation=1,
                 groups=1, bias=False, apply_norm=True, apply_act=True, norm_layer=nn.BatchNorm2d,
                 act_layer=nn.ReLU, norm_kwargs=None, act_kwargs=None, **named):
        super().__init__()
        self.conv = create_conv2d(in_channels, out_channels, kernel_size, stride=stride,
                                  padding=padding, dilation=dilation, groups=groups, bias=bias)
        norm = get_norm_layer(norm_layer) if apply_norm and norm_layer else nn.Identity
        self.norm = norm(out_channels)
        self.act = get_act_layer(act_layer)() if apply_act and act_layer else nn.Identity()
    @property
    def in_channels(self):
        return self.conv.in_channels
    @property
    def out_channels(self):
        return self.conv.out_channels
    def forward(self, x):
        return self.act(self.norm(self.conv(x)))

ConvBnAct = ConvNormActAa = ConvNormAct

def create_conv2d(in_channels, out_channels, kernel_size, stride=1, padding=None, dilation=1,
                  groups=1, bias=False, depthwise=False, **named):
    if padding is None or isinstance(padding, str):
        sides = zip(to_2tuple(kernel_size), to_2tuple(dilation))
        padding = tuple((k - 1) // 2 * d for k, d in sides)
    groups = in_channels if depthwise else groups
    return nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                     bias)

class SEModule(nn.Module):
    def __init__(self, channels, rd_ratio=1.0 / 16, rd_channels=None, rd_divisor=8, bias=True,
                 act_layer=nn.ReLU, norm_layer=None, gate_layer=nn.Sigmoid, **named):
        super().__init__()
        width = rd_channels or make_divisible(channels * rd_ratio, rd_divisor, round_limit=0.0)
        self.fc1 = nn.Conv2d(channels, width, kernel_size=1, bias=bias)
        self.act = get_act_layer(act_layer)()
        self.fc2 = nn.Conv2d(width, channels, kernel_size=1, bias=bias)
        self.gate = get_act_layer(gate_layer)()
    def forward(self, x):
        scale = self.fc2(self.act(self.fc1(x.mean((2, 3), keepdim=True))))
        return x * self.gate(scale)

SqueezeExcite = SEModule

class SelectAdaptivePool2d(nn.Module):
    def __init__(self, output_size=1, pool_type="fast", flatten=False, input_fmt="NCHW"):
        super().__init__()
        self.pool_type, self.flat = pool_type or "", flatten
        self.last = input_fmt == "NHWC"
        kind = nn.AdaptiveMaxPool2d if self.pool_type.endswith("max") else nn.AdaptiveAvgPool2d
        self.pool = kind(output_size) if self.pool_type else nn.Identity()
    def feat_mult(self):
        return 1
    def forward(self, x):
        x = self.pool(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1) if self.last else self.pool(x)
        return x.flatten(1) if self.flat else x

def create_classifier(num_features, num_classes, pool_type="avg", use_conv=False, drop_rate=None,
                      input_fmt="NCHW", **named):
    flat = bool(pool_type) and not use_conv
    pool = SelectAdaptivePool2d(pool_type=pool_type, flatten=flat, input_fmt=input_fmt)
    sizes = (num_features, num_classes)
    layer = nn.Conv2d(*sizes, 1) if use_conv and num_classes else None
    layer = layer or (nn.Linear(*sizes) if num_classes else nn.Identity())
    return (pool, layer) if drop_rate is None else (pool, nn.Dropout(drop_rate), layer)

class ClassifierHead(nn.Module):
    def __init__(self, in_features, num_classes, pool_type="avg", drop_rate=0.0, use_conv=False,
                 input_fmt="NCHW", **named):
        super().__init__()
        self.in_features = self.num_features = in_features
        self.global_pool, self.fc = create_classifier(in_features, num_classes, pool_type, use_conv,
                                                      input_fmt=input_fmt)
        self.drop = nn.Dropout(drop_rate)
        self.flatten = nn.Flatten(1) if use_conv and pool_type else nn.Identity()
    def forward(self, x, pre_logits=False):
        x = self.drop(self.global_pool(x))
        return self.flatten(x if pre_logits else self.fc(x))

def calculate_drop_path_rates(rate, depths, stagewise=False):
    if isinstance(depths, int):
        return [0.0] * depths
    return [[0.0] * n for n in depths]

def ndgrid(*arrays):
    return torch.meshgrid(*arrays, indexing="ij")

def use_fused_attn(*args, **named):
    return False

def maybe_add_mask(scores, attn_mask=None, *args):
    return scores if attn_mask is None else scores + attn_mask

def named_apply(fn, module, *args, **named):
    return module

def checkpoint_seq(functions, x, *args, **named):
    for function in functions:
        x = function(x)
    return x

def build_model_with_cfg(model_cls, variant, pretrained=False, pretrained_cfg=None, model_cfg=None,
                         feature_cfg=None, pretrained_strict=True, pretrained_filter_fn=None,
                         kwargs_filter=None, features_only=False, **named):
    if model_cfg is not None:
        named["cfg"] = model_cfg
    try:
        return model_cls(**named)
    except TypeError:  # the library takes these from the settings of its weights
        return model_cls(**{"in_chans": 3, "num_classes": 1000, **named})

def register_model(function):
    return function

def generate_default_cfgs(cfgs):
    return cfgs

def is_scripting():
    return False

def is_tracing():
    return False
"""


# --- Residual networks of torchvision, of which many sources take the first layers, as a source

MODELS = """
class BasicBlock(nn.Module):
    expansion = 1
    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample
    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))

class Bottleneck(nn.Module):
    expansion = 4
    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64):
        super().__init__()
        width = int(planes * (base_width / 64)) * groups
        self.conv1 = nn.Conv2d(inplanes, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, planes * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
    def forward(self, x):
        out = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))

class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=1000, groups=1, width_per_group=64, **named):
        super().__init__()
        self.inplanes, self.groups, self.base_width = 64, groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2)
        self.layer3 = self._make_layer(block, 256, layers[2], 2)
        self.layer4 = self._make_layer(block, 512, layers[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
    def _make_layer(self, block, planes, blocks, stride=1):
        wide, downsample = planes * block.expansion, None
        if stride != 1 or self.inplanes != wide:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, wide, 1, stride, bias=False), nn.BatchNorm2d(wide))
        more = (self.groups, self.base_width)
        layers = [block(self.inplanes, planes, stride, downsample, *more)]
        self.inplanes = wide
        layers += [block(wide, planes, 1, None, *more) for _ in range(1, blocks)]
        return nn.Sequential(*layers)
    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))

def resnet18(*args, num_classes=1000, **named):
    return ResNet(BasicBlock, [2, 2, 2, 2], num_classes)

def resnet34(*args, num_classes=1000, **named):
    return ResNet(BasicBlock, [3, 4, 6, 3], num_classes)

def resnet50(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 4, 6, 3], num_classes)

def resnet101(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 4, 23, 3], num_classes)

def resnet152(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 8, 36, 3], num_classes)

def wide_resnet50_2(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 4, 6, 3], num_classes, 1, 128)

def resnext50_32x4d(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 4, 6, 3], num_classes, 32, 4)
"""

# --- The factories and blocks of a library for medical images

MEDICAL = """
def ensure_tuple_rep(tup, dim):
    return tuple(tup) if isinstance(tup, (tuple, list)) else (tup,) * dim

def ensure_tuple(vals, *args, **named):
    return tuple(vals) if isinstance(vals, (tuple, list)) else (vals,)

def look_up_option(opt_str, supported, default="no_default", **named):
    return supported[opt_str] if isinstance(supported, dict) else opt_str

def split_args(args):
    return (args, {}) if isinstance(args, str) else args

def each_size(function, *sizes):
    if any(isinstance(one, (tuple, list)) for one in sizes):
        return tuple(function(*one) for one in zip(*(ensure_tuple_rep(x, 3) for x in sizes)))
    return function(*sizes)

def same_padding(kernel_size, dilation=1):
    return each_size(lambda size, step: (size - 1) // 2 * step, kernel_size, dilation)

def stride_minus_kernel_padding(kernel_size, stride):
    return each_size(lambda size, step: step - size, kernel_size, stride)

class Option:
    def __init__(self, **kinds):
        self.kinds = {name.upper(): kind for name, kind in kinds.items()}
        for name in self.kinds:
            setattr(self, name, name.lower())
    def __getitem__(self, place):
        name, *more = place if isinstance(place, tuple) else (place,)
        kind = self.kinds[name.upper()]
        return kind[more[0] - 1] if isinstance(kind, tuple) else kind

Conv = Option(conv=(nn.Conv1d, nn.Conv2d, nn.Conv3d),
              convtrans=(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d))
Norm = Option(batch=(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d),
              instance=(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
              group=nn.GroupNorm, layer=nn.LayerNorm)
Act = Option(elu=nn.ELU, relu=nn.ReLU, leakyrelu=nn.LeakyReLU, prelu=nn.PReLU, relu6=nn.ReLU6,
             selu=nn.SELU, celu=nn.CELU, gelu=nn.GELU, sigmoid=nn.Sigmoid, tanh=nn.Tanh,
             softmax=nn.Softmax, logsoftmax=nn.LogSoftmax, swish=nn.SiLU, memswish=nn.SiLU,
             mish=nn.Mish)
Dropout = Option(dropout=(nn.Dropout, nn.Dropout2d, nn.Dropout3d), alphadropout=nn.AlphaDropout)
Pool = Option(max=(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d),
              avg=(nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
              adaptivemax=(nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d),
              adaptiveavg=(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d))

def get_norm_layer(name, spatial_dims=1, channels=1):
    if name == "":
        return nn.Identity()
    kind, given = split_args(name)
    place = {"GROUP": "num_channels", "LAYER": ""}.get(kind.upper(), "num_features")
    widths = {place: channels} if place else {}
    return Norm[kind, spatial_dims](**{**widths, **given})

def get_act_layer(name):
    if name == "":
        return nn.Identity()
    kind, given = split_args(name)
    return Act[kind](**given)

def get_dropout_layer(name, dropout_dim=1):
    if isinstance(name, (int, float)):
        return Dropout["dropout", dropout_dim](p=float(name))
    kind, given = split_args(name)
    return Dropout[kind, dropout_dim](**given)

def get_pool_layer(name, spatial_dims=1):
    if name == "":
        return nn.Identity()
    kind, given = split_args(name)
    return Pool[kind, spatial_dims](**given)

class ADN(nn.Sequential):
    def __init__(self, ordering="NDA", in_channels=None, act="RELU", norm=None, norm_dim=None,
                 dropout=None, dropout_dim=None):
        super().__init__()
        for letter in ordering.upper():
            if letter == "A" and act is not None:
                self.add_module("A", get_act_layer(act))
            if letter == "N" and norm is not None:
                self.add_module("N", get_norm_layer(norm, norm_dim or dropout_dim, in_channels))
            if letter == "D" and dropout is not None:
                self.add_module("D", get_dropout_layer(dropout, dropout_dim or norm_dim))

class Convolution(nn.Sequential):
    def __init__(self, spatial_dims, in_channels, out_channels, strides=1, kernel_size=3,
                 adn_ordering="NDA", act="PRELU", norm="INSTANCE", dropout=None, dropout_dim=1,
                 dilation=1, groups=1, bias=True, conv_only=False, is_transposed=False,
                 padding=None, output_padding=None):
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.spatial_dims, self.is_transposed = spatial_dims, is_transposed
        if padding is None:
            padding = same_padding(kernel_size, dilation)
        more = {}
        if is_transposed:
            more["output_padding"] = output_padding
            if output_padding is None:
                more["output_padding"] = stride_minus_kernel_padding(1, strides)
        kind = Conv["convtrans" if is_transposed else "conv", spatial_dims]
        self.add_module("conv", kind(in_channels, out_channels, kernel_size=kernel_size,
                                     stride=strides, padding=padding, groups=groups, bias=bias,
                                     dilation=dilation, **more))
        if not conv_only and not (act is None and norm is None and dropout is None):
            self.add_module("adn", ADN(adn_ordering, out_channels, act, norm, spatial_dims,
                                       dropout, dropout_dim))

class MLPBlock(nn.Module):
    def __init__(self, hidden_size, mlp_dim, dropout_rate=0.0, act="GELU", dropout_mode="vit"):
        super().__init__()
        mlp_dim = mlp_dim or hidden_size
        self.linear1 = nn.Linear(hidden_size, mlp_dim)
        self.linear2 = nn.Linear(mlp_dim, hidden_size)
        self.fn, self.drop1 = get_act_layer(act), nn.Dropout(dropout_rate)
        self.drop2 = nn.Dropout(dropout_rate)
    def forward(self, x):
        return self.drop2(self.linear2(self.drop1(self.fn(self.linear1(x)))))

class SkipConnection(nn.Module):
    def __init__(self, submodule, dim=1, mode="cat"):
        super().__init__()
        self.submodule, self.dim, self.mode = submodule, dim, mode
    def forward(self, x):
        y = self.submodule(x)
        if self.mode == "cat":
            return torch.cat([x, y], dim=self.dim)
        return torch.add(x, y) if self.mode == "add" else torch.mul(x, y)

def meshgrid_ij(*tensors):
    return torch.meshgrid(*tensors, indexing="ij")
"""

# --- Checks of arguments, which change no array

CHECKS = """
def passes(*args, **named):
    return True

KORNIA_CHECK = KORNIA_CHECK_SHAPE = KORNIA_CHECK_IS_TENSOR = KORNIA_CHECK_SAME_SIZE = passes
KORNIA_CHECK_TYPE = KORNIA_CHECK_SAME_DEVICE = KORNIA_CHECK_SAME_DEVICES = passes
KORNIA_CHECK_SAME_SHAPE = KORNIA_CHECK_IS_IMAGE = KORNIA_CHECK_LAF = passes
KORNIA_CHECK_DM_DESC = KORNIA_CHECK_IS_LIST_OF_TENSOR = passes

def is_exporting():
    return False

is_compiling = is_autocast_enabled = is_exporting
"""
