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
from ncd import ops
from ncd.circuit.circuit import Cell, Circuit, Fence, Loop, Value
from ncd.circuit.definition import define
from ncd.circuit.elaborate import Axes, elaborate
from ncd.errors import (
    LimitError,
    LookAheadError,
    MismatchError,
    NCDError,
    ParseError,
    SizeError,
    UnknownNameError,
)
from ncd.installation import needed_by
from ncd.language.axes import Array, Axis, Signature, Type, plain, seq, space
from ncd.language.blocks import Block, Equation, abreast
from ncd.language.loops import Repeat, Scan
from ncd.language.number_formats import Formats
from ncd.language.op import Op, Sample, Site
from ncd.language.terms import Beside, Id, Term, Then
from ncd.site import notebook
from ncd.site.notebook import load_ipython_extension as load_ipython_extension
from ncd.version import VERSION as __version__

globals().update((op.__name__, op) for op in ops.CATALOGUE)

if TYPE_CHECKING:
    from ncd.answers.answer import Answer
    from ncd.answers.ask import ask
    from ncd.circuit.costs import Cost, cost
    from ncd.circuit.knob import Knob
    from ncd.drawing.backends.drawing import Drawing
    from ncd.drawing.elements.primitives import Thumbnail
    from ncd.drawing.pipeline import draw
    from ncd.explain.autograd_dag import Dag, autograd
    from ncd.explain.equation_proof import prove
    from ncd.explain.shape_tracker import track
    from ncd.explain.thumbnails import thumbnails
    from ncd.findings.reading.finding import Cure, Finding
    from ncd.findings.search import module_findings
    from ncd.notation.term_reader import TextError, parse
    from ncd.notation.term_text import spell
    from ncd.ops import *
    from ncd.read.torch_calls.import_recorder import ImportFailed
    from ncd.read.torch_module.from_torch import Box, Imported, from_torch
    from ncd.rewrite.decode import Cache, CachedPass, CachePlacement, decode
    from ncd.rewrite.gradient import gradient
    from ncd.rewrite.rewriting import Rewrite, apply, rewrites
    from ncd.rewrite.sharded_run import ShardedResult, run_sharded
    from ncd.rewrite.sharding import Sharding, shard
    from ncd.rewrite.tile_loop import Result, run_stream
    from ncd.rewrite.tile_schedule import Stream, stream
    from ncd.run.checkpointing import Checkpoints, Saved, SavedArray, checkpoints, saved
    from ncd.run.device import devices
    from ncd.run.guard import compile as compile
    from ncd.run.limits import Limits
    from ncd.run.module import Trace, trace
    from ncd.run.seeding import example_inputs
    from ncd.site.document import html
    from ncd.site.widget import Explorer, explore
    from ncd.systems.catalogue import CATALOGUE as catalogue
    from ncd.systems.catalogue_entry import Entry
    from ncd.write.onnx.onnx_model import onnx
    from ncd.write.term_json import from_json, to_json
    from ncd.write.torch_source.source_file import source

# The names of the modules besides the language itself: each is imported when it is used.
_LATE = {
    "answers.answer": ("Answer",),
    "findings.reading.finding": ("Cure", "Finding"),
    "write.torch_source.source_file": ("source",),
    "circuit.costs": ("Cost", "cost"),
    "rewrite.gradient": ("gradient",),
    "rewrite.rewriting": ("Rewrite", "apply", "rewrites"),
    "drawing.backends.drawing": ("Drawing",),
    "drawing.elements.primitives": ("Thumbnail",),
    "drawing.pipeline": ("draw",),
    "site.document": ("html",),
    "circuit.knob": ("Knob",),
    "systems.catalogue": ("catalogue", "Entry"),
    "write.term_json": ("from_json", "to_json"),
    "rewrite.sharding": ("Sharding", "shard"),
    "rewrite.tile_schedule": ("Stream", "stream"),
    "notation.term_reader": ("TextError", "parse"),
    "notation.term_text": ("spell",),
}
# Those of modules that import torch; without it they are no part of a star import.
_RUN = {
    "answers.ask": ("ask",),
    "findings.search": ("module_findings",),
    "explain.autograd_dag": ("Dag", "autograd"),
    "explain.equation_proof": ("prove",),
    "explain.shape_tracker": ("track",),
    "explain.thumbnails": ("thumbnails",),
    "read.torch_calls.import_recorder": ("ImportFailed",),
    "read.torch_module.from_torch": ("Box", "Imported", "from_torch"),
    "rewrite.decode": ("Cache", "CachePlacement", "CachedPass", "decode"),
    "rewrite.sharded_run": ("ShardedResult", "run_sharded"),
    "rewrite.tile_loop": ("Result", "run_stream"),
    "run.checkpointing": ("Saved", "SavedArray", "saved", "Checkpoints", "checkpoints"),
    "run.device": ("devices",),
    "run.guard": ("compile",),
    "run.limits": ("Limits",),
    "run.module": ("Trace", "trace"),
    "run.seeding": ("example_inputs",),
}
# Those of modules that import one more library each.
_ALSO = {"write.onnx.onnx_model": ("onnx",), "site.widget": ("Explorer", "explore")}
_ALIASED_NAMES = {"catalogue": "CATALOGUE"}

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
    "Cache",
    "CachePlacement",
    "CachedPass",
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
    "Cure",
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
    "Finding",
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
    "LookAheadError",
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
    "Rewrite",
    "Roll",
    "Sample",
    "Saved",
    "SavedArray",
    "Scale",
    "Scan",
    "Scatter",
    "ShardedResult",
    "Sharding",
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
    "Thumbnail",
    "Top",
    "Trace",
    "Type",
    "Unit",
    "UnknownNameError",
    "Value",
    "Window",
    "Wire",
    "abreast",
    "apply",
    "ask",
    "autograd",
    "catalogue",
    "checkpoints",
    "cost",
    "decode",
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
    "rewrites",
    "run_sharded",
    "run_stream",
    "saved",
    "seq",
    "shard",
    "source",
    "space",
    "spell",
    "stream",
    "thumbnails",
    "to_json",
    "trace",
    "track",
]
# A star import leaves out what needs a library that is not installed.
_NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_RUN, ("torch",)),
    "write.onnx.onnx_model": ("torch", "onnx"),
    "site.widget": ("torch", "anywidget"),
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
            globals()[name] = (
                found if name == module else getattr(found, _ALIASED_NAMES.get(name, name))
            )
            return globals()[name]
    raise AttributeError(f"module 'ncd' has no attribute {name!r}")
