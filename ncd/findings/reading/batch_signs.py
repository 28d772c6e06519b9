"""The signs in the names and remarks of a source of which axis of its input is the batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ncd.findings.reading.source_text import SourceText

SURE_BATCH = r"(?:batch(?:[ _]?size)?|bsz?|B|b|nbatches|num_batch\w*|n_batch\w*)"
BATCH = rf"(?:{SURE_BATCH}|N|n)"
STEPS = (
    r"(?:seq(?:uence)?(?:[ _]?len(?:gth)?)?|time(?:[ _]?steps?)?|steps?|tokens?|len(?:gth)?|"
    r"max_?len|seqlen|src_len|tgt_len|n_?ctx|window|L|T|S|t|l|s)"
)
GAP = r"\s*[,x×*]\s*"
START = r"(?:[\[({:]|^#)\s*"  # of a shape in a remark
BATCH_FIRST = re.compile(
    rf"[\[({{]\s*(?:{SURE_BATCH}{GAP}|{BATCH}{GAP}{STEPS}\b)|\bB\s*x\s*T\b"
    rf"|{START}{SURE_BATCH}{GAP}{STEPS}\b"
)
STEPS_FIRST = re.compile(rf"{START}{STEPS}{GAP}{BATCH}\b|\bT\s*x\s*B\b")
QUOTED_BATCH_FIRST = re.compile(rf"[\"']\s*{SURE_BATCH}\s+\w+")
BATCH_NAME = re.compile(rf"{BATCH}$")
STEPS_NAME = re.compile(rf"{STEPS}$")


def text_signs(text: SourceText) -> Iterator[bool]:
    """Yields the signs that stand in remarks and in names."""
    for _, words in text.remarks():
        if STEPS_FIRST.search(words) or "batch_first=False" in words:
            yield False
        elif BATCH_FIRST.search(words) or QUOTED_BATCH_FIRST.match(words):
            yield True
    for node in text.nodes:
        if isinstance(node, ast.Assign):
            yield from _unpacking_signs(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names = [one.id for one in node.args if isinstance(one, ast.Name)]
            if node.func.attr in ("randn", "rand", "randint", "zeros", "ones") and len(names) > 1:
                yield from _pair(names[0], names[1])


def _unpacking_signs(node: ast.Assign) -> Iterator[bool]:
    """Yields the sign of ``b, t, d = x.shape`` or ``b = x.size(0)``."""
    target, value = node.targets[0], node.value
    words = ast.unparse(value)
    if isinstance(target, ast.Tuple) and len(target.elts) > 1:
        if words.endswith((".shape", ".size()")) or re.search(
            r"\.(shape\[:2\]|size\(\)\[:2\])$", words
        ):
            yield from _pair(ast.unparse(target.elts[0]), ast.unparse(target.elts[1]))
    elif isinstance(target, ast.Name):
        found = re.search(r"\.(?:shape\[([01])\]|size\(([01])\))$", words)
        if found:
            place = int(found[1] or found[2] or 0)
            if BATCH_NAME.match(target.id):
                yield place == 0
            elif STEPS_NAME.match(target.id):
                yield place == 1


def _pair(first: str, second: str) -> Iterator[bool]:
    """Yields the sign of two names of sizes that stand one after the other."""
    if STEPS_NAME.match(first) and BATCH_NAME.match(second):
        yield False
    elif BATCH_NAME.match(first):
        yield True
