"""The generators, one family a file. ``CATALOGUE`` is all that stands here, one line an op."""

from ncd.lang.op import Op as _Op
from ncd.lang.wire import Wire as Wire
from ncd.ops.add import Add as Add
from ncd.ops.concat import Concat as Concat
from ncd.ops.concat import Cut as Cut
from ncd.ops.conv import Conv as Conv
from ncd.ops.conv import ConvTranspose as ConvTranspose
from ncd.ops.dropout import Dropout as Dropout
from ncd.ops.einsum import Einsum as Einsum
from ncd.ops.function import Function as Function
from ncd.ops.index import Index as Index
from ncd.ops.linear import Linear as Linear
from ncd.ops.map import CausalMask as CausalMask
from ncd.ops.map import Elementwise as Elementwise
from ncd.ops.map import Map as Map
from ncd.ops.map import Scale as Scale
from ncd.ops.norm import BatchNorm as BatchNorm
from ncd.ops.norm import LayerNorm as LayerNorm
from ncd.ops.norm import RMSNorm as RMSNorm
from ncd.ops.param import Param as Param
from ncd.ops.pool import MaxPool as MaxPool
from ncd.ops.reduce import Reduce as Reduce
from ncd.ops.reshape import Group as Group
from ncd.ops.reshape import Rename as Rename
from ncd.ops.reshape import Split as Split
from ncd.ops.softmax import Softmax as Softmax
from ncd.ops.top import Top as Top
from ncd.ops.unit import Inner as Inner
from ncd.ops.unit import Unit as Unit
from ncd.ops.window import Window as Window
from ncd.ops.wiring import Copy as Copy
from ncd.ops.wiring import Named as Named
from ncd.ops.wiring import Swap as Swap

CATALOGUE: tuple[type[_Op], ...] = tuple(
    op for name, op in globals().items() if isinstance(op, type) and not name.startswith("_")
)
__all__ = [op.__name__ for op in CATALOGUE]  # not the names of the files, such as ``map``
