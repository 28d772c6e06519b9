"""Cures at the call itself: axes moved, memory copied, sizes left open, letters of an einsum."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations

from torch import nn

from ncd.findings.cures.candidate import Candidate, appended, inserted, operands, replaced
from ncd.findings.failures.call_reasons import PAIRS, is_view
from ncd.findings.failures.failure import Failure
from ncd.findings.failures.size_words import equation
from ncd.findings.finding import Edit, further_argument


def axis_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields operands with two axes exchanged, and pictures with their channels second."""
    found = equation(failure)
    if found is not None and found[0] == "at most":
        return
    shapes = [*failure.shapes, *(failure.call.shapes if failure.call else ())]
    ranks = sorted({len(one) for one in shapes if 1 < len(one) < 6})
    arrays = [*operands(failure)]
    for node in arrays:
        last = 0.05 * (node is not arrays[-1])  # of a product mostly the second is meant
        for rank in ranks:
            for move, cost in _moves(rank, _first(failure)):
                edits = appended(failure.trace.text, node, move)
                yield Candidate(edits, cost + last, "axes")


def _first(failure: Failure) -> float:
    """Returns what it costs to move the first axis, which is mostly the batch."""
    sequence = isinstance(failure.layer, nn.MultiheadAttention | nn.RNNBase)
    return 0.8 if sequence or (failure.call and failure.call.name in PAIRS) else 4.0


def _moves(rank: int, first: float) -> Iterator[tuple[str, float]]:
    if rank == 4:
        yield ".permute(0, 3, 1, 2)", 0.6
        yield ".permute(0, 2, 3, 1)", 0.61
    for i, j in combinations(range(rank), 2):
        last = (i, j) == (rank - 2, rank - 1)
        axes = "-2, -1" if last and rank > 2 else f"{i}, {j}"
        turned = rank == 4 and (i, j) == (1, 3)  # a picture would lie on its side
        cost = 0.6 + 0.02 * (not last) + turned
        yield f".transpose({axes})", cost + first * (i == 0 and rank > 2)


def call_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields other calls in the place of the one that failed."""
    text, node = failure.trace.text, failure.node
    counts = "is invalid for input" in failure.message  # of numbers that differ, as a copy's would
    named = node.func if isinstance(node, ast.Call) and is_view(node) else None
    if isinstance(named, ast.Attribute) and not counts:
        end = named.end_col_offset or 0
        line = named.end_lineno or 1
        start = inserted(text, line, end - 4, "").start
        yield Candidate((Edit(line, start, start + 4, "reshape"),), 0.3, "memory")
    if isinstance(node, ast.Call) and failure.call is not None:
        yield from _open_sizes(failure, node)
        yield from _shared_heads(failure, node)
    if failure.call is not None and failure.call.name == "einsum":
        yield from _letters(failure)
    yield from _kinds(failure)


def _open_sizes(failure: Failure, node: ast.Call) -> Iterator[Candidate]:
    """Yields a view with -1 for one of its sizes: ``k.view(B, -1, h, d)``."""
    call = failure.call
    if call is None or call.name not in ("view", "reshape") or len(node.args) < 2:
        return
    if any(isinstance(size, ast.UnaryOp) for size in node.args):
        return  # one size is open already
    for i, size in enumerate(node.args):
        edit = replaced(failure.trace.text, size, "-1")
        if edit is not None:
            written = isinstance(size, ast.Constant)
            yield Candidate((edit,), 0.7 + 0.6 * (i != 1) + 0.5 * written, "view")


def _shared_heads(failure: Failure, node: ast.Call) -> Iterator[Candidate]:
    """Yields an attention whose groups of queries share keys and values."""
    call = failure.call
    if call is None or call.name != "scaled_dot_product_attention" or len(call.shapes) < 2:
        return
    query, key = (failure.value(one[-3]) if len(one) > 3 else 0 for one in call.shapes[:2])
    if key and query != key and query % key == 0:
        edit = further_argument(failure.trace.text, node, "enable_gqa=True")
        yield Candidate((edit,), 0.3, "switch")


def _letters(failure: Failure) -> Iterator[Candidate]:
    """Yields the pattern of an einsum with two letters of an operand exchanged."""
    if not isinstance(failure.node, ast.Call):
        return
    constants = (n for n in ast.walk(failure.node) if isinstance(n, ast.Constant))
    node = next((n for n in constants if isinstance(n.value, str) and "," in n.value), None)
    if node is None:
        return
    source = ast.get_source_segment(failure.trace.text, node) or ""
    spans = [*re.finditer(r"[A-Za-z.]+(?: +[A-Za-z.]+)*", source.partition("->")[0])]
    for span in spans[::-1]:
        places = [i for i in range(span.start(), span.end()) if source[i].isalpha()]
        for i, j in combinations(places, 2):
            letters = list(source)
            letters[i], letters[j] = letters[j], letters[i]
            edit = replaced(failure.trace.text, node, "".join(letters))
            if edit is not None:
                yield Candidate((edit,), 0.5, "letters")


def _kinds(failure: Failure) -> Iterator[Candidate]:
    """Yields operands as whole or as real numbers."""
    text = failure.trace.text
    words = failure.message.lower()
    if "type" not in words and "long" not in words and "float" not in words:
        return
    rows = text.rstrip().split("\n")
    last = rows[-1].rstrip()
    if isinstance(failure.layer, nn.Embedding) and re.fullmatch(r"\d+([x×]\d+)*", last):
        count = int(failure.layer.num_embeddings)
        edit = Edit(len(rows), len(last), len(last), f"#{count}")
        yield Candidate((edit,), 0.4, "kind", "input")
    for node in operands(failure):
        for kind, cost in ((".long()", 0.8), (".float()", 0.9)):
            yield Candidate(appended(text, node, kind), cost, "kind")
    if isinstance(failure.layer, nn.Embedding):
        yield from _whole_inputs(failure)


def _whole_inputs(failure: Failure) -> Iterator[Candidate]:
    """Yields ``torch.randint`` in the place of ``torch.randn`` for an input of tokens."""
    assert isinstance(failure.layer, nn.Embedding)
    for node in ast.walk(failure.trace.tree):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in ("torch.randn", "torch.rand"):
            shape = ", ".join(ast.unparse(one) for one in node.args)
            new = f"torch.randint(0, {int(failure.layer.num_embeddings)}, ({shape},))"
            new = new.replace(",,", ",") if len(node.args) < 2 else new.replace(",))", "))")
            if edit := replaced(failure.trace.text, node, new):
                yield Candidate((edit,), 0.5, "kind", "input")
