"""Public functions refuse arguments of another kind, and never with an error of Python's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from torch import nn

import ncd

TERM = ncd.parse('Id("y:4 m:3") >> Linear("m:3 -> k:2", "L") >> Softmax("k:2")')
MODULE, X = ncd.compile(TERM), torch.ones(4, 3)
WRONG: tuple[Any, ...] = (
    *(5, -1, 10**400, 2.5, float("nan"), float("inf"), True, None, object(), int, len),
    *("text", "", "\ud800", "int8", b"x", [], ["a"], ("a", 1), {}, {"a": 1}, {1: 2}, {"a"}, [[]]),
    *(torch.ones(2), TERM, nn.ReLU()),
)


def every_op() -> Iterator[ncd.Op]:
    """Yields one op of each public class."""
    for kind in map(vars(ncd).get, ncd.__all__):
        if inspect.isclass(kind) and issubclass(kind, ncd.Op) and kind is not ncd.Op:
            yield kind.examples()[0].op


def values(op: ncd.Op) -> Iterator[Any]:
    """Yields what an op is made of, in the order of its arguments."""
    for one in inspect.signature(type(op)).parameters.values():
        if one.kind is not one.VAR_KEYWORD:
            yield getattr(op, one.name)


def named(x: "t m") -> Any:  # type: ignore[name-defined] # noqa: F722
    return ncd.Softmax("m")(x)


# A call of each that is right: the first arguments, and the names of those that may be left out.
CALLS: Mapping[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "ask": (('Softmax("m")',), ("files",)),
    "apply": ((TERM, ncd.Rewrite("remove", "n1")), ()),
    "abreast": ((ncd.Softmax("m:3"), ncd.Softmax("k:3")), ()),
    "autograd": ((MODULE, X), ("seed", "frozen")),
    "checkpoints": ((TERM, 10_000), ("formats",)),
    "compile": ((TERM,), ("seed", "device", "limits", "formats", "recompute")),
    "cost": ((TERM,), ("formats",)),
    "decode": ((TERM, "y"), ("keep", "prompt")),
    "define": ((named,), ()),
    "draw": (
        (TERM,),
        (
            *("labels", "folded", "width", "notes", "bands", "cells", "dark", "mark"),
            *("formats", "thumbnails", "title"),
        ),
    ),
    "elaborate": ((TERM,), ()),
    "example_inputs": ((TERM,), ("seed", "device", "limits")),
    "explore": (("tensors",), ("seed",)),
    "Explorer": (
        ("", [{"name": "m", "min": 1, "max": 9, "step": 1, "value": 3}], lambda m: TERM),
        ("seed", "sizes", "module"),
    ),
    "from_json": ((ncd.to_json(TERM),), ()),
    "from_torch": ((nn.Linear(3, 2), X), ("axes",)),
    "gradient": ((TERM,), ("wrt",)),
    "html": ((TERM,), ("labels", "title", "about", "seed")),
    "module_findings": ((ncd.from_torch(nn.Linear(3, 2), X),), ()),
    "onnx": ((TERM,), ("weights", "seed")),
    "parse": (('Softmax("m")',), ()),
    "plain": ((3,), ("label",)),
    "prove": ((ncd.Equation(TERM, TERM),), ("seed", "double", "limits")),
    "rewrites": ((TERM,), ("at",)),
    "run_sharded": ((ncd.shard(TERM, ["m"], 1), [X], MODULE), ()),
    "run_stream": ((ncd.stream(TERM), [X], MODULE), ()),
    "saved": ((TERM,), ("recompute", "formats")),
    "seq": ((3,), ("label",)),
    "shard": ((TERM, ["m"], 1), ()),
    "source": ((TERM,), ("name", "einops")),
    "space": ((3, 4), ("label",)),
    "spell": ((TERM,), ("notation",)),
    "stream": ((TERM,), ("grouped", "streamed", "budget", "formats", "around")),
    "thumbnails": ((MODULE, ncd.trace(MODULE, X)), ("dark", "marked")),
    "to_json": ((TERM,), ("indent", "about")),
    "trace": ((MODULE, X), ()),
    "track": ((nn.ReLU(),), ("echo", "whole")),
    # classes that are made of values
    "Array": (([ncd.Axis("m", 3)],), ("below",)),
    "Axis": (("m", 3), ("sequence", "label")),
    "Formats": ((), ("weights", "activations", "cache", "cached")),
    "Limits": ((), ("bytes", "flops")),
    "Signature": ((ncd.Type.parse("m"), ncd.Type.parse("k")), ()),
    "Type": (([ncd.Array.parse("m")],), ()),
    # terms
    "Axes": ((), ("m", "k")),
    "Beside": ((TERM, TERM), ()),
    "Block": ((TERM,), ("title", "role", "name", "type", "local")),
    "Equation": ((TERM, TERM), ("sign",)),
    "Id": (("m",), ()),
    "Repeat": (((TERM,),), ("name", "shared", "memory")),
    "Scan": ((ncd.Add(),), ("axis", "name", "states")),
    "Then": ((TERM,), ()),
    **{type(op).__name__: (tuple(values(op)), ()) for op in every_op()},
}


def wrong_calls(name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields calls in which one argument is another value, with what they are called."""
    call, (args, names) = getattr(ncd, name), CALLS[name]
    for value in WRONG:
        for i in range(len(args)):
            changed = (*args[:i], value, *args[i + 1 :])
            yield f"argument {i} is {value!r}", lambda changed=changed: call(*changed)
        for key in names:
            yield f"{key} is {value!r}", lambda k=key, v=value: call(*args, **{k: v})


def test_each_public_function_and_term_is_here() -> None:
    public = {name: getattr(ncd, name) for name in ncd.__all__}
    functions = {name for name, one in public.items() if inspect.isfunction(one)}
    terms = {
        name for name, one in public.items() if inspect.isclass(one) and issubclass(one, ncd.Term)
    }
    assert functions | {"compile"} | terms - {"Term", "Op"} <= {*CALLS}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_refused_in_words(name: str) -> None:
    args, _ = CALLS[name]
    getattr(ncd, name)(*args)
    bare = []
    for what, call in wrong_calls(name):
        try:
            made = call()
            if isinstance(made, ncd.Drawing):
                made.svg()
        except ncd.NCDError as error:
            assert str(error).isprintable()
        except Exception as error:
            bare.append(f"{what}: {type(error).__name__}: {error}")
    assert not bare


MESSAGES: Mapping[str, tuple[Callable[[], Any], str]] = {
    "formats": (
        lambda: ncd.cost(TERM, "int8"),  # type: ignore[arg-type]
        "cost: formats is 'int8', but it is number formats. Try formats=ncd.Formats(\"int8\").",
    ),
    "limits": (
        lambda: ncd.compile(TERM, limits=5),  # type: ignore[arg-type]
        "limits is 5, but it is the limits of a run. Try limits=ncd.Limits(bytes=2000000000).",
    ),
    "a name of an axis": (
        lambda: ncd.Axis(["a"]),  # type: ignore[arg-type]
        "['a'] is no name of an axis, which has letters, digits, _ and /. Try a.",
    ),
    "one block": (
        lambda: ncd.saved(TERM, "L"),
        "saved: recompute is 'L', but it is several ids and titles. Try recompute=['L'].",
    ),
    "one parameter": (
        lambda: ncd.gradient(TERM, "L.weight"),  # type: ignore[arg-type]
        'gradient: wrt is \'L.weight\', but it is "inputs", "parameters" or several names. '
        "Try wrt=['L.weight'].",
    ),
    "a flag": (
        lambda: ncd.draw(TERM, dark="yes"),  # type: ignore[arg-type]
        "draw: dark is 'yes', but it is True or False. Try dark=True.",
    ),
    "what JSON cannot hold": (
        lambda: ncd.to_json(TERM, about={"a": {1}}),
        "to_json: about is {'a': {1}}, but it is a dict of what JSON can hold. "
        'Try about={"seed": 7}.',
    ),
    "arrays of a loop without inputs": (
        lambda: ncd.run_stream(ncd.stream(ncd.Param("m:3")), [X]),
        "the loop reads no arrays, not 1 array. Try [].",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_message_says_what_would_work(name: str) -> None:
    call, message = MESSAGES[name]
    with pytest.raises(ncd.NCDError) as error:
        call()
    assert str(error.value) == message
