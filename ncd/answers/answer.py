"""The answer to a text: what it is, what comes out, and what is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncd.findings.reading.finding import Finding
from ncd.language.terms import Term

Kind = Literal["source", "line", "einsum", "einops", "config", "term", "traceback"]


@dataclass(frozen=True)
class Answer:
    """The answer to a text.

    Args:
        kind: What the text is.
        term: Its term; None if it has none, as the message of an error.
        shapes: The shapes of the results, as torch has them.
        sentence: The answer in one sentence, such as ``out: 8 × 10 (batch, classes)``.
        assumed: What was assumed, a sentence each, such as the shape of an input.
        findings: Failures, silent faults and sizes, in this order.
        costs: What it takes, a sentence each: parameters and FLOPs; of a configuration its memory.

    Source: this project's own.

    >>> from ncd import ask
    >>> answer: Answer = ask('Axes(y=5, m=8, k=3)(Id("y m") >> Linear("m -> k", "W"))')
    >>> answer.kind, answer.shapes, answer.findings
    ('term', ((5, 3),), ())
    """

    kind: Kind
    term: Term | None
    shapes: tuple[tuple[int, ...], ...]
    sentence: str
    assumed: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    costs: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Returns what it says, line by line: its sentence, its findings and their cures.

        >>> from ncd import ask
        >>> print(ask("fc = nn.Linear(8, 4)\\nfc(torch.randn(2, 9))"))
        line 1: Linear gets 9 features (...); it takes 8 (in_features, line 1).
        cure 1, which changes the model, line 1: fc = nn.Linear(9, 4)
        cure 2, which changes the input, line 2: fc(torch.randn(2, 8))
        """
        lines = [self.sentence, *self.costs, *self.assumed]
        for finding in self.findings:
            lines += [str(finding)] * (str(finding) != self.sentence)
            lines += [f"cure {n}, which {cure}" for n, cure in enumerate(finding.cures, 1)]
        return "\n".join(lines)
