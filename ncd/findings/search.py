"""Finds what is wrong with a PyTorch source."""

from __future__ import annotations

from ncd.findings.finding import Finding, failure_of
from ncd.lang.errors import NCDError
from ncd.pytorch_source.source_reader import read_source


def findings(text: str) -> tuple[Finding, ...]:
    """Returns what is wrong with a source: the failure with which it stops.

    >>> source = "class A(nn.Module):\\n    def forward(self, x):\\n        return x.reluu()\\n2x3"
    >>> [(each.kind, each.line) for each in findings(source)]
    [('failure', 3)]
    """
    try:
        error: NCDError | None = read_source(text).failure
    except NCDError as wrong:
        error = wrong
    return () if error is None else (failure_of(error),)
