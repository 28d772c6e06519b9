"""Ops: the generators of the language, one family a file, and their catalogue, a line for each."""

from ncd.language.op import Op as _Op
from ncd.language.wire import Wire as Wire
from ncd.ops.abstract_function import Function as Function
from ncd.ops.concat import Concat as Concat
from ncd.ops.concat import Cut as Cut
from ncd.ops.constant_array import Given as Given
from ncd.ops.convolution import Conv as Conv
from ncd.ops.convolution import ConvTranspose as ConvTranspose
from ncd.ops.einsum import Einsum as Einsum
from ncd.ops.einsum import Inner as Inner
from ncd.ops.einsum import Unit as Unit
from ncd.ops.elementwise import Add as Add
from ncd.ops.elementwise import CausalMask as CausalMask
from ncd.ops.elementwise import Dropout as Dropout
from ncd.ops.elementwise import Elementwise as Elementwise
from ncd.ops.elementwise import Map as Map
from ncd.ops.elementwise import Scale as Scale
from ncd.ops.indexing import Index as Index
from ncd.ops.indexing import Scatter as Scatter
from ncd.ops.linear import Linear as Linear
from ncd.ops.normalisation import BatchNorm as BatchNorm
from ncd.ops.normalisation import GroupNorm as GroupNorm
from ncd.ops.normalisation import LayerNorm as LayerNorm
from ncd.ops.normalisation import RMSNorm as RMSNorm
from ncd.ops.opaque_call import Opaque as Opaque
from ncd.ops.pad_roll import Pad as Pad
from ncd.ops.pad_roll import Roll as Roll
from ncd.ops.pooling import MaxPool as MaxPool
from ncd.ops.reductions import Cumulative as Cumulative
from ncd.ops.reductions import Reduce as Reduce
from ncd.ops.reductions import Top as Top
from ncd.ops.reshape import Group as Group
from ncd.ops.reshape import Rename as Rename
from ncd.ops.reshape import Split as Split
from ncd.ops.sliding_window import Fold as Fold
from ncd.ops.sliding_window import Window as Window
from ncd.ops.softmax import Softmax as Softmax
from ncd.ops.weights import Param as Param
from ncd.ops.wiring import Copy as Copy
from ncd.ops.wiring import Named as Named
from ncd.ops.wiring import Swap as Swap

CATALOGUE: tuple[type[_Op], ...] = tuple(
    op for name, op in globals().items() if isinstance(op, type) and not name.startswith("_")
)
