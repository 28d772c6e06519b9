"""The run: a term as a ``torch.nn.Module``, seeded, with every array's value on request."""

from ncd.run.device import devices
from ncd.run.guard import Limits, check
from ncd.run.module import CircuitModule, Trace, compile, trace
from ncd.run.seed import example_inputs, generator

__all__ = [
    "CircuitModule",
    "Limits",
    "Trace",
    "check",
    "compile",
    "devices",
    "example_inputs",
    "generator",
    "trace",
]
