"""Layers of timm, on which many sources are built.

They are written here as a source, as those of ``usual_parts.py`` are.
"""

from __future__ import annotations

VISION = """
def get_act_layer(name="relu"):
    return activation_class(name) if isinstance(name, str) else name

def create_act_layer(name, inplace=None, **named):
    return get_act_layer(name)()

def get_norm_layer(name=None):
    kinds = {"batchnorm": nn.BatchNorm2d, "batchnorm2d": nn.BatchNorm2d, "layernorm": LayerNorm,
             "layernorm2d": LayerNorm2d, "rmsnorm": RmsNorm, "rmsnorm2d": RmsNorm2d,
             "groupnorm": GroupNorm1}
    return kinds[name.replace("_", "").lower()] if isinstance(name, str) else name

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
        width = rd_channels or make_divisible(channels * rd_ratio, rd_divisor)
        self.fc1 = nn.Conv2d(channels, width, kernel_size=1, bias=bias)
        self.act = get_act_layer(act_layer)()
        self.fc2 = nn.Conv2d(width, channels, kernel_size=1, bias=bias)
        self.gate = nn.Sigmoid()
    def forward(self, x):
        scale = self.fc2(self.act(self.fc1(x.mean((2, 3), keepdim=True))))
        return x * self.gate(scale)

SqueezeExcite = SEModule

class SelectAdaptivePool2d(nn.Module):
    def __init__(self, output_size=1, pool_type="fast", flatten=False, input_fmt="NCHW"):
        super().__init__()
        self.pool_type, self.flat = pool_type or "", flatten
        kind = nn.AdaptiveMaxPool2d if self.pool_type.endswith("max") else nn.AdaptiveAvgPool2d
        self.pool = kind(output_size) if self.pool_type else nn.Identity()
    def feat_mult(self):
        return 1
    def forward(self, x):
        x = self.pool(x)
        return x.flatten(1) if self.flat else x

def create_classifier(num_features, num_classes, pool_type="avg", use_conv=False, drop_rate=None,
                      **named):
    pool = SelectAdaptivePool2d(pool_type=pool_type, flatten=not use_conv)
    layer = nn.Conv2d(num_features, num_classes, 1) if use_conv else None
    parts = (pool, layer or nn.Linear(num_features, num_classes))
    return parts if drop_rate is None else (pool, nn.Dropout(drop_rate), parts[1])

class ClassifierHead(nn.Module):
    def __init__(self, in_features, num_classes, pool_type="avg", drop_rate=0.0, use_conv=False,
                 **named):
        super().__init__()
        self.in_features = self.num_features = in_features
        self.global_pool, self.fc = create_classifier(in_features, num_classes, pool_type, use_conv)
        self.drop = nn.Dropout(drop_rate)
        self.flatten = nn.Flatten(1) if use_conv and pool_type else nn.Identity()
    def forward(self, x, pre_logits=False):
        return self.flatten(self.fc(self.drop(self.global_pool(x))))

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
