"""The neural circuit explorer: one typed term per system, and every view derived from it.

>>> term = catalogue["multi-head-attention"].build(h=8)
>>> str(term.dom), str(term.cod)
('y m, x m', 'y m')
"""

from inspect import ismodule

from ncd import quiet_interrupt  # before all that takes time

# isort: split
from ncd import notebook
from ncd.code import source
from ncd.costs import Cost, cost
from ncd.drawing import Drawing, draw
from ncd.export import html
from ncd.graph import Dag, autograd
from ncd.importing import Box, Imported, ImportFailed, from_torch
from ncd.lang.circuits.circuit import Cell, Circuit, Fence, Loop, Value
from ncd.lang.circuits.definition import define
from ncd.lang.circuits.elaborate import Axes, elaborate
from ncd.lang.errors import (
    LimitError,
    MismatchError,
    NCDError,
    ParseError,
    SizeError,
    UnknownNameError,
)
from ncd.lang.terms.blocks import Block, Equation, abreast
from ncd.lang.terms.loops import Repeat, Scan
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.terms import Beside, Id, Term, Then
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.lang.types.axis_kinds import plain, seq, space
from ncd.models import CATALOGUE as catalogue
from ncd.models import Entry, Knob
from ncd.ops import *  # noqa: F403
from ncd.run import Limits, Trace, compile, devices, example_inputs, prove, trace, track
from ncd.serial import from_json, to_json
from ncd.text import TextError, parse, spell

Term._repr_mimebundle_ = notebook.bundle  # type: ignore[attr-defined]  # lang knows no drawing

# All of these but ``compile``, which would hide the builtin in a star import.
__all__ = [
    name
    for name, value in list(globals().items())
    if not (name.startswith("_") or ismodule(value) or name in ("compile", "ismodule"))
]
