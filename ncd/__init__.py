"""The neural circuit explorer: one typed term per system, and every view derived from it.

>>> term = catalogue["multi-head-attention"].build(h=8)
>>> str(term.dom), str(term.cod)
('y m, x m', 'y m')
"""

from ncd.autograd import Dag, autograd
from ncd.axes import Array, Axis, Signature, Type, seq, space
from ncd.circuit import Cell, Circuit, Fence, Value, elaborate
from ncd.cost import Cost, cost
from ncd.draw import Drawing, draw
from ncd.errors import (
    LimitError,
    MismatchError,
    NCDError,
    ParseError,
    SizeError,
    UnknownNameError,
)
from ncd.models import CATALOGUE as catalogue
from ncd.models import Entry, Knob
from ncd.op import Op, Site
from ncd.ops import (
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
from ncd.run import Limits, Trace, compile, devices, example_inputs, trace
from ncd.serial import from_json, to_json
from ncd.source import source
from ncd.terms import Axes, Beside, Block, Id, Repeat, Term, Then
