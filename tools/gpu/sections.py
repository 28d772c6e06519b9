"""The sections of the check of a device: what each measures, and its seconds at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from tools.gpu.agreement import Setting
from tools.gpu.findings import Finding

Measure = Callable[[Setting], Iterator[Finding]]


@dataclass(frozen=True)
class Section:
    """A section: a function of a module in this folder, which is imported when it is measured."""

    title: str
    place: str
    seconds: int

    def measure(self, setting: Setting) -> Iterator[Finding]:
        """Yields what it finds, one after the other, so that a late end loses nothing."""
        module, _, name = self.place.partition(":")
        function: Measure = getattr(import_module(f"tools.gpu.{module}"), name)
        return function(setting)


SECTIONS: Mapping[str, Section] = {
    "device": Section("The device", "machine:machine", 30),
    "systems": Section("Every system beside the CPU", "agreement:systems", 120),
    "precision": Section("TF32", "agreement:precision", 25),
    "memory": Section("Memory that the guard states", "memory:memory", 70),
    "flash": Section("The flash loop", "speed:flash", 30),
    "formats": Section("Number formats", "formats:formats", 40),
    "visitors": Section("Fifty visitors", "visitors:visitors", 50),
    "full": Section("A full device", "memory:full", 25),
    "training": Section("Training of three systems", "training:training", 60),
    "compiled": Section("Compiled beside fused by hand", "speed:compiled", 80),
}
