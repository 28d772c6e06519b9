"""The generators, one family a file; ``CATALOGUE`` is the hand-written list of all of them."""

from ncd.ops.add import Add, Concat
from ncd.ops.conv import Conv, ConvTranspose, MaxPool
from ncd.ops.einsum import Einsum
from ncd.ops.elementwise import Elementwise, Scale
from ncd.ops.linear import Linear
from ncd.ops.norm import BatchNorm, LayerNorm
from ncd.ops.reshape import Group, Split
from ncd.ops.softmax import CausalMask, Softmax
from ncd.ops.wiring import Copy, Named, Swap

CATALOGUE = (
    Add,
    BatchNorm,
    CausalMask,
    Concat,
    Conv,
    ConvTranspose,
    Copy,
    Einsum,
    Elementwise,
    Group,
    LayerNorm,
    Linear,
    MaxPool,
    Named,
    Scale,
    Softmax,
    Split,
    Swap,
)
