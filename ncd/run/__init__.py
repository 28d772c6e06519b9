"""Runs: a term as a seeded ``torch.nn.Module``, with the value of every array on request."""

from ncd.run.base.device import devices, synchronise
from ncd.run.base.limits import Limits
from ncd.run.base.seeding import example_inputs, generator
from ncd.run.execution.module import CircuitModule, Trace, trace
from ncd.run.explain.equation_proof import Proof, apart, prove
from ncd.run.explain.shape_tracker import Tracker, track
from ncd.run.limits.checkpoint_plans import Checkpoints, checkpoints
from ncd.run.limits.compiling import compile
from ncd.run.limits.guard import check, fits, nearest_fit, peak
from ncd.run.limits.saved_for_backward import Saved, SavedArray, saved

__all__ = [
    "Checkpoints",
    "CircuitModule",
    "Limits",
    "Proof",
    "Saved",
    "SavedArray",
    "Trace",
    "Tracker",
    "apart",
    "check",
    "checkpoints",
    "compile",
    "devices",
    "example_inputs",
    "fits",
    "generator",
    "nearest_fit",
    "peak",
    "prove",
    "saved",
    "synchronise",
    "trace",
    "track",
]
