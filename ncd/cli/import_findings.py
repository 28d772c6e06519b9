"""Findings in the source of an imported module, which is read beside its run."""

from __future__ import annotations

import ast
from pathlib import Path

from ncd.findings.reading.finding import Finding
from ncd.findings.search import call_findings
from ncd.read.python_source.model_inputs import array_words
from ncd.read.torch_module.from_torch import Imported

MAKERS = (ast.ClassDef, ast.FunctionDef)  # of what makes a module


def import_findings(place: str, inputs: str, found: Imported) -> tuple[Finding, ...]:
    """Returns what is found in the file of a module, ``model.py:Net``, on inputs of these shapes.

    A failure is one of the module only if that fails as well.
    """
    file, _, name = place.rpartition(":")
    try:
        text = Path(file).read_text(encoding="utf-8")
        last = _call(text, name, inputs)
    except (OSError, ValueError, RecursionError, MemoryError):  # no text, or no Python
        return ()
    return call_findings(text, last, bool(found.failure))


def _call(text: str, name: str, inputs: str) -> str:
    """Returns the line that calls a module of a source.

    >>> _call("class Net(nn.Module): ...", "Net", "2x8, 4#50")
    'Net()(torch.randn(2, 8), torch.randint(50, (4,)))'
    """
    made = [each.name for each in ast.parse(text).body if isinstance(each, MAKERS)]
    given = []
    for each in inputs.split(","):
        shape, _, below = each.strip().partition("#")
        given.append(array_words([*filter(None, shape.split("x"))], below))
    return f"{name}{'()' * (name in made)}({', '.join(given)})"
