"""The catalogue of ops, one line for each; their families are in the folders beside it."""

from ncd.lang.terms.op import Op as _Op
from ncd.lang.terms.wire import Wire as Wire
from ncd.ops.along_axis.cumulative import Cumulative as Cumulative
from ncd.ops.along_axis.group_norm import GroupNorm as GroupNorm
from ncd.ops.along_axis.normalisation import BatchNorm as BatchNorm
from ncd.ops.along_axis.normalisation import LayerNorm as LayerNorm
from ncd.ops.along_axis.normalisation import RMSNorm as RMSNorm
from ncd.ops.along_axis.reduce import Reduce as Reduce
from ncd.ops.along_axis.softmax import Softmax as Softmax
from ncd.ops.along_axis.top import Top as Top
from ncd.ops.elementwise.add import Add as Add
from ncd.ops.elementwise.dropout import Dropout as Dropout
from ncd.ops.elementwise.function import Function as Function
from ncd.ops.elementwise.map import Map as Map
from ncd.ops.elementwise.unary_maps import CausalMask as CausalMask
from ncd.ops.elementwise.unary_maps import Elementwise as Elementwise
from ncd.ops.elementwise.unary_maps import Scale as Scale
from ncd.ops.linear_maps.einsum import Einsum as Einsum
from ncd.ops.linear_maps.linear import Linear as Linear
from ncd.ops.linear_maps.param import Param as Param
from ncd.ops.linear_maps.unit import Inner as Inner
from ncd.ops.linear_maps.unit import Unit as Unit
from ncd.ops.structure.concat import Concat as Concat
from ncd.ops.structure.concat import Cut as Cut
from ncd.ops.structure.index import Index as Index
from ncd.ops.structure.pad import Pad as Pad
from ncd.ops.structure.reshape import Group as Group
from ncd.ops.structure.reshape import Rename as Rename
from ncd.ops.structure.reshape import Split as Split
from ncd.ops.structure.roll import Roll as Roll
from ncd.ops.structure.scatter import Scatter as Scatter
from ncd.ops.structure.wiring import Copy as Copy
from ncd.ops.structure.wiring import Named as Named
from ncd.ops.structure.wiring import Swap as Swap
from ncd.ops.torch_calls.given import Given as Given
from ncd.ops.torch_calls.opaque import Opaque as Opaque
from ncd.ops.windows.convolution import Conv as Conv
from ncd.ops.windows.pooling import MaxPool as MaxPool
from ncd.ops.windows.sliding_window import Fold as Fold
from ncd.ops.windows.sliding_window import Window as Window
from ncd.ops.windows.transposed_convolution import ConvTranspose as ConvTranspose

CATALOGUE: tuple[type[_Op], ...] = tuple(
    op for name, op in globals().items() if isinstance(op, type) and not name.startswith("_")
)
