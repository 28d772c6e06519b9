"""The run: a term as a ``torch.nn.Module``, seeded, with every array's value on request."""

from ncd.run.build import compile
from ncd.run.device import devices, synchronise
from ncd.run.guard import check, fits, nearest_fit, peak
from ncd.run.limits import Limits
from ncd.run.module import CircuitModule, Trace, trace
from ncd.run.proof import Proof, apart, prove
from ncd.run.seed import example_inputs, generator
from ncd.run.tracker import Tracker, track

__all__ = [
    "CircuitModule",
    "Limits",
    "Proof",
    "Trace",
    "Tracker",
    "apart",
    "check",
    "compile",
    "devices",
    "example_inputs",
    "fits",
    "generator",
    "nearest_fit",
    "peak",
    "prove",
    "synchronise",
    "trace",
    "track",
]
