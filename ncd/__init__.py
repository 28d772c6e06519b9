"""The neural circuit explorer: one typed term per system, and every view derived from it.

>>> from ncd import catalogue
>>> term = catalogue["multi-head-attention"].build(h=8)
>>> str(term.dom), str(term.cod)
('y m, x m', 'y m')
"""

from importlib import import_module
from importlib.util import find_spec
from inspect import ismodule
from typing import TYPE_CHECKING, Any

from ncd import quiet_interrupt  # before all that takes time

# isort: split
from ncd import notebook
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
from ncd.notebook import load_ipython_extension
from ncd.ops import *  # noqa: F403

if TYPE_CHECKING:
    from ncd.code import source
    from ncd.costs import Cost, cost
    from ncd.derivatives import gradient
    from ncd.drawing import Drawing, draw
    from ncd.export import html
    from ncd.graph import Dag, autograd
    from ncd.importing import Box, Imported, ImportFailed, from_torch
    from ncd.models import CATALOGUE as catalogue
    from ncd.models import Entry, Knob
    from ncd.onnx_model import onnx
    from ncd.run import (
        Checkpoints,
        Limits,
        Saved,
        SavedArray,
        Trace,
        checkpoints,
        compile,
        devices,
        example_inputs,
        prove,
        saved,
        trace,
        track,
    )
    from ncd.serial import from_json, to_json
    from ncd.streaming import Stream, stream
    from ncd.streaming.loop import Result, run_stream
    from ncd.text import TextError, parse, spell
    from ncd.widget import Explorer, explore

__version__ = "0.1.0"
# The names of the modules besides the language itself: each is imported when it is used.
_LATE = {
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
_NEEDS = {"onnx_model": ("torch", "onnx"), "widget": ("torch", "anywidget")}
_RENAMED = {"catalogue": "CATALOGUE"}

Term._repr_mimebundle_ = notebook.bundle  # type: ignore[attr-defined]  # lang knows no drawing

# All of these but ``compile``, which would hide the builtin in a star import.
__all__ = [
    name
    for name, value in [
        *globals().items(),
        *((name, None) for names in _LATE.values() for name in names),
        *((name, None) for names in _RUN.values() for name in names if find_spec("torch")),
        *(
            (name, None)
            for module, names in _ALSO.items()
            for name in names
            if all(map(find_spec, _NEEDS[module]))
        ),
    ]
    if not (
        name.startswith("_")
        or ismodule(value)
        or name in ("compile", "find_spec", "import_module", "ismodule", "needed_by")
        or name in ("Any", "TYPE_CHECKING", "load_ipython_extension")
    )
]


def __getattr__(name: str) -> Any:
    for module, names in (_LATE | _RUN | _ALSO).items():
        if name in (module, *names):
            with needed_by(f"ncd.{name}"):
                found = import_module(f"ncd.{module}")
            globals()[name] = found if name == module else getattr(found, _RENAMED.get(name, name))
            return globals()[name]
    raise AttributeError(f"module 'ncd' has no attribute {name!r}")
