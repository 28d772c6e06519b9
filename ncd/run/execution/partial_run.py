"""A part of a program: the steps that some of its values depend on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ncd.run.execution.program import Program, ScanStep, SegmentStep, Step


def leading(program: Program, ids: Collection[str]) -> Program:
    """Returns only the steps of a program that the values of these ids depend on."""
    needed = {slot for slot, id in enumerate(program.ids) if id in ids}
    steps: list[Step | ScanStep | SegmentStep] = []
    for step in reversed(program.steps):
        if not needed.isdisjoint(step.outputs):
            steps.append(step)
            needed.update(step.inputs)
    return replace(program, steps=tuple(reversed(steps)), outputs=())
