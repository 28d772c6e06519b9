"""The signs in a source of which axis of its input is the batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch
from torch import nn

from ncd.findings.silent.model_runs import argument
from ncd.findings.silent.silent_source import Source
from ncd.findings.silent.source_text import SourceText

SURE = r"(?:batch(?:[ _]?size)?|bsz?|B|b|nbatches|num_batch\w*|n_batch\w*)"
BATCH = rf"(?:{SURE}|N|n)"
STEPS = (
    r"(?:seq(?:uence)?(?:[ _]?len(?:gth)?)?|time(?:[ _]?steps?)?|steps?|tokens?|len(?:gth)?|"
    r"max_?len|seqlen|src_len|tgt_len|n_?ctx|window|L|T|S|t|l|s)"
)
GAP = r"\s*[,x×*]\s*"
BATCH_FIRST = re.compile(rf"[\[({{]\s*(?:{SURE}{GAP}|{BATCH}{GAP}{STEPS}\b)|\bB\s*x\s*T\b")
STEPS_FIRST = re.compile(rf"[\[({{]\s*{STEPS}{GAP}{BATCH}\b|\bT\s*x\s*B\b")
NAMED = re.compile(rf"[\"']\s*{SURE}\s+\w+")
ONE = re.compile(rf"{BATCH}$")
OTHER = re.compile(rf"{STEPS}$")
MEANS = ("mean", "amax", "max", "sum")
UNSURE = ("src", "tgt", "source", "target", "query", "key", "value", "q", "k", "v", "memory")


def batch_first(source: Source, means: bool = True) -> bool | None:
    """Returns whether axis 0 of the input is the batch; None if nothing says so or else.

    Any sign of the steps before the batch outweighs all others, so that a model which is meant for
    that order is left in peace. Without ``means``, what is averaged is no sign.
    """
    signs = [*_written(source.source), *_used(source, means)]
    if not all(signs):
        return False
    if signs:
        return True
    first = source.run.inputs[0] if source.run and source.run.inputs else ()
    if len(first) >= 4 or (len(first) == 2 and _real(source)):
        return True
    return None


def usual_order(source: Source) -> bool:
    """Returns whether the input, of three axes, is given to a class in the usual order."""
    names = [
        one.arg
        for node in source.source.nodes
        if isinstance(node, ast.FunctionDef) and node.name == "forward"
        for one in node.args.args[1:]
    ]
    return not source.assumed and bool(names) and not any(name in UNSURE for name in names)


def _real(source: Source) -> bool:
    first = next((x for x in (*source.args, *source.named.values())), None)
    return isinstance(first, torch.Tensor) and first.is_floating_point()


def _written(text: SourceText) -> Iterator[bool]:
    """Yields the signs that stand in remarks and in names."""
    for _, words in text.remarks():
        if STEPS_FIRST.search(words) or "batch_first=False" in words:
            yield False
        elif BATCH_FIRST.search(words) or NAMED.match(words):
            yield True
    for node in text.nodes:
        if isinstance(node, ast.Assign):
            yield from _unpacked(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names = [one.id for one in node.args if isinstance(one, ast.Name)]
            if node.func.attr in ("randn", "rand", "randint", "zeros", "ones") and len(names) > 1:
                yield from _pair(names[0], names[1])


def _unpacked(node: ast.Assign) -> Iterator[bool]:
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
            if ONE.match(target.id):
                yield place == 0
            elif OTHER.match(target.id):
                yield place == 1


def _pair(first: str, second: str) -> Iterator[bool]:
    """Yields the sign of two names of sizes that stand one after the other."""
    if OTHER.match(first) and ONE.match(second):
        yield False
    elif ONE.match(first):
        yield True


def _used(source: Source, means: bool) -> Iterator[bool]:
    """Yields the signs of how axes are used: ``x[:, -1]`` and ``x.mean(1)`` take a step."""
    run, other = source.run, source.changed(0)
    if run is None or other is None or not run.inputs:
        return
    sizes = run.inputs[0][0], other.inputs[0][0]
    kinds = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.modules.batchnorm._BatchNorm)
    for layer in run.layers if len(run.inputs[0]) > 3 else ():
        if (
            isinstance(layer.module, kinds)
            and layer.arrays
            and layer.arrays[0].shape[0] == sizes[0]
        ):
            yield True
    for call, again in zip(run.calls, other.calls, strict=True):
        if not call.takes or call.takes[0].dim() != 3 or (call.name in MEANS and not means):
            continue
        if (call.takes[0].shape[0], again.takes[0].shape[0]) == sizes:
            yield from _taken(call.name, argument(call, 1, "dim"))


def _taken(name: str, index: object) -> Iterator[bool]:
    """Yields the sign of a call that takes a place of an axis, or goes over all of it."""
    if name == "__getitem__":
        if isinstance(index, int) and not isinstance(index, bool):
            yield False
        elif isinstance(index, tuple) and index[:1] == (slice(None),):
            yield from (True for one in index[1:2] if isinstance(one, int))
    elif name in MEANS:
        if index == 0:
            yield False
        elif index == 1:
            yield True
    elif name == "flatten" and index == 1:
        yield True
