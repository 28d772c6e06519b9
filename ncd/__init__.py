"""The neural circuit explorer: one typed term per system, and every view derived from it.

>>> from ncd import catalogue
>>> term = catalogue["multi-head-attention"].build(h=8)
>>> str(term.dom), str(term.cod)
('y m, x m', 'y m')
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ncd import quiet_interrupt  # before all that takes time

# isort: split
from ncd import notebook, ops
from ncd.extras import needed_by
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
from ncd.lang.formats import Formats
from ncd.lang.terms.blocks import Block, Equation, abreast
from ncd.lang.terms.loops import Repeat, Scan
from ncd.lang.terms.op import Op, Sample, Site
from ncd.lang.terms.terms import Beside, Id, Term, Then
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.lang.types.axis_kinds import plain, seq, space
from ncd.notebook import load_ipython_extension as load_ipython_extension
from ncd.version import VERSION as __version__

globals().update((op.__name__, op) for op in ops.CATALOGUE)

if TYPE_CHECKING:
    from ncd.answers.answer import Answer
    from ncd.answers.ask import ask
    from ncd.code import source
    from ncd.costs import Cost, cost
    from ncd.derivatives import gradient
    from ncd.drawing import Drawing, draw
    from ncd.export import html
    from ncd.findings.module_findings import module_findings
    from ncd.graph import Dag, autograd
    from ncd.importing import Box, Imported, ImportFailed, from_torch
    from ncd.models import CATALOGUE as catalogue
    from ncd.models import Entry, Knob
    from ncd.onnx_model import onnx
    from ncd.ops import *
    from ncd.run import (
        Checkpoints,
        Limits,
        Saved,
        SavedArray,
        Trace,
        checkpoints,
        devices,
        example_inputs,
        prove,
        saved,
        trace,
        track,
    )
    from ncd.run import compile as compile
    from ncd.serial import from_json, to_json
    from ncd.streaming import Stream, stream
    from ncd.streaming.loop import Result, run_stream
    from ncd.text import TextError, parse, spell
    from ncd.widget import Explorer, explore

# The names of the modules besides the language itself: each is imported when it is used.
_LATE = {
    "answers.answer": ("Answer",),
    "code": ("source",),
    "costs": ("Cost", "cost"),
    "derivatives": ("gradient",),
    "drawing": ("Drawing", "draw"),
    "export": ("html",),
    "models": ("catalogue", "Entry", "Knob"),
    "serial": ("from_json", "to_json"),
    "streaming": ("Stream", "stream"),
    "text": ("TextError", "parse", "spell"),
}
# Those of modules that import torch; without it they are no part of a star import.
_RUN = {
    "answers.ask": ("ask",),
    "findings.module_findings": ("module_findings",),
    "graph": ("Dag", "autograd"),
    "importing": ("Box", "Imported", "ImportFailed", "from_torch"),
    "streaming.loop": ("Result", "run_stream"),
    "run": (
        *("Limits", "Trace", "compile", "devices", "example_inputs", "prove", "trace", "track"),
        *("Saved", "SavedArray", "saved", "Checkpoints", "checkpoints"),
    ),
}
# Those of modules that import one more library each.
_ALSO = {"onnx_model": ("onnx",), "widget": ("Explorer", "explore")}
_RENAMED = {"catalogue": "CATALOGUE"}

Term._repr_mimebundle_ = notebook.bundle  # type: ignore[attr-defined]  # lang knows no drawing

# All names but ``compile``, which would hide the builtin in a star import. Type checkers read it.
__all__ = [
    "Add",
    "Answer",
    "Array",
    "Axes",
    "Axis",
    "BatchNorm",
    "Beside",
    "Block",
    "Box",
    "CausalMask",
    "Cell",
    "Checkpoints",
    "Circuit",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Copy",
    "Cost",
    "Cumulative",
    "Cut",
    "Dag",
    "Drawing",
    "Dropout",
    "Einsum",
    "Elementwise",
    "Entry",
    "Equation",
    "Explorer",
    "Fence",
    "Fold",
    "Formats",
    "Function",
    "Given",
    "Group",
    "GroupNorm",
    "Id",
    "ImportFailed",
    "Imported",
    "Index",
    "Inner",
    "Knob",
    "LayerNorm",
    "LimitError",
    "Limits",
    "Linear",
    "Loop",
    "Map",
    "MaxPool",
    "MismatchError",
    "NCDError",
    "Named",
    "Op",
    "Opaque",
    "Pad",
    "Param",
    "ParseError",
    "RMSNorm",
    "Reduce",
    "Rename",
    "Repeat",
    "Result",
    "Roll",
    "Sample",
    "Saved",
    "SavedArray",
    "Scale",
    "Scan",
    "Scatter",
    "Signature",
    "Site",
    "SizeError",
    "Softmax",
    "Split",
    "Stream",
    "Swap",
    "Term",
    "TextError",
    "Then",
    "Top",
    "Trace",
    "Type",
    "Unit",
    "UnknownNameError",
    "Value",
    "Window",
    "Wire",
    "abreast",
    "ask",
    "autograd",
    "catalogue",
    "checkpoints",
    "cost",
    "define",
    "devices",
    "draw",
    "elaborate",
    "example_inputs",
    "explore",
    "from_json",
    "from_torch",
    "gradient",
    "html",
    "module_findings",
    "onnx",
    "parse",
    "plain",
    "prove",
    "run_stream",
    "saved",
    "seq",
    "source",
    "space",
    "spell",
    "stream",
    "to_json",
    "trace",
    "track",
]
# A star import leaves out what needs a library that is not installed.
_NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_RUN, ("torch",)),
    "onnx_model": ("torch", "onnx"),
    "widget": ("torch", "anywidget"),
}
_MISSING = {
    name
    for module, libraries in _NEEDS.items()
    if not all(map(find_spec, libraries))
    for name in (_RUN | _ALSO)[module]
}
__all__[:] = [name for name in __all__ if name not in _MISSING]


def __getattr__(name: str) -> Any:
    for module, names in (_LATE | _RUN | _ALSO).items():
        if name in (module, *names):
            with needed_by(f"ncd.{name}"):
                found = import_module(f"ncd.{module}")
            globals()[name] = found if name == module else getattr(found, _RENAMED.get(name, name))
            return globals()[name]
    raise AttributeError(f"module 'ncd' has no attribute {name!r}")
