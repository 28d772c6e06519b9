"""Whole messages: each names the op, the axes and sizes bound so far, and a value that works."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor

import ncd
from ncd import (
    Add,
    Axes,
    Axis,
    BatchNorm,
    Block,
    CausalMask,
    Concat,
    Conv,
    ConvTranspose,
    Copy,
    Einsum,
    Elementwise,
    Equation,
    Group,
    Id,
    Index,
    LayerNorm,
    Limits,
    Linear,
    Map,
    MaxPool,
    Repeat,
    Scale,
    Scan,
    Softmax,
    Split,
    Swap,
    Then,
    Wire,
    space,
)
from ncd.formulas.formula import FUNCTIONS
from ncd.run.guard import peak
from ncd.run.run_memory import Storages

MHA = ncd.catalogue["multi-head-attention"]
BLOCK = ncd.catalogue["residual-block"]
Call = Callable[[], object]

WHOLE = "but a size is a whole number, 1 or more."
SIZES: list[tuple[Call, str]] = [
    (lambda: Axis("m", 0), f"axis m has size 0, {WHOLE} Try m = 1."),
    (lambda: Axis("m", -1), f"axis m has size -1, {WHOLE} Try m = 1."),
    (lambda: Axis("m", 2.5), f"axis m has size 2.5, {WHOLE} Try m = 2."),
    (lambda: Axis("m", True), f"axis m has size True, {WHOLE} Try m = 1."),
    (lambda: Axis("m", "3"), f"axis m has size '3', {WHOLE} Try m = 1."),
    (lambda: Axis("m", math.nan), f"axis m has size nan, {WHOLE} Try m = 1."),
    (lambda: Axis("m", math.inf), f"axis m has size inf, {WHOLE} Try m = 1."),
    (lambda: Axis("x", (16, 0)), f"axis x has size 0, {WHOLE} Try x = 1."),
    (lambda: Axis("x", ()), "axis x is a group of no sizes. Try x = space(16, 16)."),
    (
        lambda: Axis("m", 10**13),
        "axis m has size 10000000000000, but a size is a whole number, at most "
        "1,000,000,000,000. Try m = 1000000000000.",
    ),
    (
        lambda: Axis("m", 10**5000),
        "axis m has size a number of thousands of digits, but a size is a whole number, at most "
        "1,000,000,000,000. Try m = 1000000000000.",
    ),
    (lambda: Axes(m=0)(Id("m")), f"axis m has size 0, {WHOLE} Try m = 1."),
    (lambda: Axes(x=space(2, -2))(Id("x")), f"axis x has size -2, {WHOLE} Try x = 1."),
    (lambda: Id("m:0"), f"axis m has size 0, {WHOLE} Try m = 1."),
    (
        lambda: Axes(y=2)(Id("y m") >> Softmax("y")),
        "Softmax: axis m has no size. Bound so far: y 2. Try Axes(m=…), or a name among y.",
    ),
    (
        lambda: Axes(y=2)(Id("y m")),
        "Input (y m): axis m has no size. Bound so far: y 2. Try Axes(m=…), or a name among y.",
    ),
    (
        lambda: Axes(y=2)(Id("y") >> Scale("q")),
        "Scale: axis q has no size. Bound so far: y 2. Try Axes(q=…), or a name among y.",
    ),
    (lambda: ncd.compile(Softmax("m")), "Softmax: axis m has no size. Try Axes(m=…)."),
    (
        lambda: ncd.example_inputs(Softmax("m")),
        "Softmax: axis m has no size. Try Axes(m=…).",
    ),
    (
        lambda: Axes(k=3, d="k/2")(Id("d k")),
        "Axes(d='k / 2'): axis d is k / 2 = 3/2, but a size is a whole number, 1 or more. "
        "Bound so far: k 3. Try sizes for which k / 2 is whole.",
    ),
    (
        lambda: Axes(k=3, d="k $")(Id("d k")),
        "'$' is not understood in the formula 'k $'. "
        'Try something like "where($2 > 0, -inf, $1)".',
    ),
]

MEETINGS: list[tuple[Call, str]] = [
    (
        lambda: Id("y:2 m:3") >> Softmax("x"),
        "Softmax (x -> x): it takes (x), but the array that meets it is (y m). "
        "Bound so far: y 2, m 3. Try an array that has x, such as (x).",
    ),
    (
        lambda: Id("y:2 m:3") >> Linear("n -> k:2", "Q"),
        "Linear Q (n -> k): it takes (n), but the array that meets it is (y m). "
        "Bound so far: y 2, m 3. Try an array that has n, such as (n).",
    ),
    (
        lambda: Id("y:2 m:3") >> Einsum("m y -> y m"),
        "Einsum (m y -> y m): it takes (m y), but the array that meets it is (y m). "
        'Bound so far: y 2, m 3. Try Einsum("y m -> m y") before it, to put the axes in this '
        "order.",
    ),
    (
        lambda: Id("y:2 m:3") >> Linear("m:4 -> k:2", "Q"),
        "Linear Q (m -> k): axis m is 4 on one side and 3 on the other. "
        "Bound so far: y 2, m 3. Try m = 3 on both.",
    ),
    (
        lambda: Id("y:2 m:3") >> Id("n"),
        "Id (n): it takes (n), but the array that meets it is (y m). "
        "Bound so far: y 2, m 3. Try an array that has n, such as (n).",
    ),
    (
        lambda: Id("m:3") >> Id("m:4"),
        "Id (m): axis m is 4 on one side and 3 on the other. Bound so far: m 3. Try m = 3 on both.",
    ),
    (
        lambda: Id("m:3, n:4") >> Add(),
        "Add ((), () -> ()): the arrays (m) and (n) differ. Bound so far: m 3, n 4. "
        "Try two arrays that share these axes in this order.",
    ),
    (
        lambda: Copy("t:2 m:3") >> Add() >> Add(),  # a residual connection without its copy
        "Add ((), () -> ()): it adds two arrays of the same axes, and beside (t m) there is none "
        'with axes. Bound so far: t 2, m 3. Try Copy("t m") before the branch, whose second copy '
        "waits for the sum.",
    ),
    (
        lambda: Id("c:3 x:2, c:3 y:2") >> Concat("c, c -> d"),
        "Concat (c, c -> d): the arrays (c x) and (c y) differ. Bound so far: c 3, x 2, y 2, d 6. "
        "Try arrays that share all other axes, in this order.",
    ),
    (
        lambda: Id("a:2, b:3") >> Swap("b", "a"),
        "Swap (b, a -> a, b): it takes (b), but the array that meets it is (a). "
        "Bound so far: a 2, b 3. Try an array that has b, such as (b).",
    ),
    (
        lambda: Id("y:2 k:3") >> Linear("y -> k:4", "Q"),
        "Linear Q (y -> k): axis k would appear twice in the result (k k). "
        "Bound so far: y 2, k 3, k 4. Try another name for the new axis k.",
    ),
    (
        lambda: Einsum("i j -> k"),
        "Einsum (i j -> k): axis k stands on the right but not on the left. "
        "Try a pattern whose right side has only i, j.",
    ),
    (
        lambda: Einsum("i j -> i, j"),
        'Einsum (i j -> i, j): an einsum gives one array. Try "i j -> i".',
    ),
    (
        lambda: Id("c:2x2 x:4x4") >> Conv("c x -> d:2 x"),
        "Conv conv (c x -> d x): the channels of a convolution are plain axes, but (c x) has a "
        "group. Bound so far: c 2×2, x 4×4, d 2. "
        "Try a plain channel axis, and places such as x:16x16.",
    ),
    (
        lambda: Id("y:2 m:3") >> Index("y#v, v m -> y m"),
        "Index (y#v, v m -> y m): it takes whole numbers below v, but the array that meets it, "
        "(y m), holds real numbers. Bound so far: y 2, m 3. "
        "Try an array of whole numbers below v, such as (y#v).",
    ),
    (
        lambda: Id("y:2#v:5") >> Linear("y -> k:2", "Q"),
        "Linear Q (y -> k): it takes real numbers, but the array that meets it, (y#v), holds "
        "whole numbers below v. Bound so far: y 2, v 5. "
        "Try Index to look the numbers up, or Map to make real ones of them.",
    ),
    (
        lambda: Id("k:3, k:3 m:2") >> Einsum("k, m -> m"),
        "Einsum (k, m -> m): the array (k m) has axis k, but the pattern takes (m) there and "
        "names k elsewhere. Bound so far: k 3, m 2. "
        "Try k in the pattern of this array too, or another name for it.",
    ),
    (
        lambda: Block(Id("a b"), "Part", type="a b -> a"),
        "Block 'Part': it gives (a b), but its type says (a). "
        'Try type="a b -> a b", or other steps.',
    ),
    (
        lambda: Equation(Id("m"), Id("n")),
        'Equation: it takes (n), but its type says (m). Try type="n -> n", or other steps.',
    ),
    (
        lambda: Wire("a -> b"),
        "Wire (a -> b): (b) stands on the right but not on the left. Try one of (a).",
    ),
    (
        lambda: Scan(Id("n, n"), "n"),
        "Scan n: its body has the axis n itself. Try another name for one.",
    ),
]

DIVISIONS: list[tuple[Call, str]] = [
    (
        lambda: Id("d:10") >> Split("d -> h:4 k"),
        "Split (d -> h k): axis d has size 10, which h = 4 does not divide. "
        "Bound so far: d 10, h 4. Try d = 8.",
    ),
    (
        lambda: Id("d:3") >> Split("d -> h:4 k"),
        "Split (d -> h k): axis d has size 3, which h = 4 does not divide. "
        "Bound so far: d 3, h 4. Try d = 4.",
    ),
    (
        lambda: Id("d:24") >> Split("d -> h:4 k:3"),
        "Split (d -> h k): axis d has size 24, but h·k = 12. "
        "Bound so far: d 24, h 4, k 3. Try d = 12.",
    ),
    (
        lambda: Id("x:4 y:3") >> Group("x y -> d:13"),
        "Group (x y -> d): axis d has size 13, but x·y = 12. "
        "Bound so far: x 4, y 3, d 13. Try d = 12.",
    ),
    (
        lambda: ncd.elaborate(Id("b:1 c:3") >> BatchNorm("b c")),
        "BatchNorm norm (b c -> b c): it normalises over all but c, and that is one number. "
        "Bound so far: b 1, c 3. Try b = 2.",
    ),
    (
        lambda: Id("c:2 x:4x4") >> Conv("c x -> d:2 x", "conv", 3, stride=2),
        "Conv conv (c x -> d x): axis x would go from 4×4 to 2×2, but keeps its name. "
        "Bound so far: c 2, x 4×4, d 2. "
        "Try stride = 1, or another name than x on the right.",
    ),
    (
        lambda: Id("c:2 x:2x2") >> Conv("c x -> d:2 y", "conv", 5, padding=0),
        "Conv conv (c x -> d y): axis x has size 2×2, too small for a window of 5. "
        "Bound so far: c 2, x 2×2, d 2. Try x = 5×5.",
    ),
    (
        lambda: Id("c:2 x:1x1") >> MaxPool("x -> y"),
        "MaxPool (x -> y): axis x has size 1×1, too small for a window of 2. "
        "Bound so far: c 2, x 1×1. Try x = 2×2.",
    ),
    (
        lambda: Id("c:2 x:1") >> ConvTranspose("c x -> d:2 y", padding=2, stride=2),
        "ConvTranspose up (c x -> d y): axis x has size 1, and a padding of 2 cuts off all that "
        "comes out. "
        "Bound so far: c 2, x 1, d 2. Try x = 3.",
    ),
    (
        lambda: Id("c:2 x:3x3") >> ConvTranspose("c x -> d:2 y", output_padding=(1, 3)),
        "ConvTranspose up (c x -> d y): the output padding is 3, but it stays below "
        "the stride or the dilation, here 2. "
        "Bound so far: c 2, x 3×3, d 2, y 7×9. Try output_padding = 1.",
    ),
    *[
        (
            lambda kernel=kernel: Id("c:2 x:4") >> Conv("c x -> d:2 y", "conv", kernel),
            f"Conv: the kernel is {kernel!r}, but it is a whole number, 1 or more. Try kernel = 1.",
        )
        for kernel in (0, -1, 1.5, True, "3")
    ],
    (
        lambda: Id("c:2 x:4") >> Conv("c x -> d:2 y", padding=-5),
        "Conv: the padding is -5, but it is a whole number, 0 or more. Try padding = 0.",
    ),
    (lambda: Repeat(()), "a repetition needs at least one body. Try N = 1."),
]

AXIS = "is not an axis. Try a name such as m, m:128, ~y:20 or x:16x16."
TEXTS: list[tuple[Call, str]] = [
    (lambda: Id("m:"), f"'m:' {AXIS}"),
    (lambda: Id("m:2.5"), f"'m:2.5' {AXIS}"),
    (lambda: Id("a b!"), f"'b!' {AXIS}"),
    (lambda: Id("_x"), f"'_x' {AXIS}"),
    (lambda: Id("m ()"), f"'()' {AXIS}"),
    (lambda: Id("m:" + "9" * 5000), f"'m:{'9' * 36}… {AXIS}"),
    (lambda: Id("m:3 m:4"), "axis m stands twice in (m m). Try m_2 for one of them."),
    (lambda: Id('m"'), f"'m\"' {AXIS}"),
    (lambda: Id(3), 'type is 3, but it is text. Try "y m, x m".'),
    (lambda: Linear("m k"), "Linear: 'm k' is not a signature. Try something like \"m -> k h\"."),
    (lambda: Linear("m -> k -> h"), f"Linear: '->' {AXIS}"),
    (lambda: Linear(3), 'Linear: pattern is 3, but it is text. Try "y m -> y k".'),
    (
        lambda: Linear("m, n -> k"),
        'Linear: "m, n -> k" is not of the form "m -> k". Try something like Linear("m -> k").',
    ),
    (
        lambda: Softmax("m n"),
        'Softmax: axis is (m n), but it is one axis. Try "x".',
    ),
    (
        lambda: CausalMask("y"),
        'CausalMask: "y" is not of the form "y x". Try something like CausalMask("y x").',
    ),
    (
        lambda: LayerNorm(""),
        'LayerNorm: "()" is not of the form "m". Try something like LayerNorm("m").',
    ),
    (
        lambda: Conv("x -> y"),
        'Conv: "x -> y" is not of the form "c x -> d x". Try something like Conv("c x -> d x").',
    ),
    (lambda: Scale("k:3", "1/0"), 'Scale: \'1/0\' is no power. Try "-1/2", or "2".'),
    (
        lambda: Scale("k:3", "1e999999999"),
        'Scale: \'1e999999999\' is no power. Try "-1/2", or "2".',
    ),
    (lambda: Linear("m -> k", "a.b"), "Linear: 'a.b' is no name for a layer. Try a_b."),
    (lambda: Linear("m -> k", "class"), "Linear: 'class' is no name for a layer. Try class_."),
    (lambda: Linear("m -> k", ""), "Linear: '' is no name for a layer. Try L."),
    (lambda: Then(), 'Then: it takes one term or more. Try Then(Id("m")).'),
    (
        lambda: Elementwise("relo"),
        "Elementwise: there is no elementwise function 'relo'. Try relu.",
    ),
    (
        lambda: Map("a -> a", "foo($1)"),
        f"Map: there is no function 'foo'. Try one of {', '.join(FUNCTIONS)}.",
    ),
    (
        lambda: Map("a -> a", "$1 + "),
        "Map: a number or a name is missing before 'the end' in the formula '$1 + '. "
        'Try something like "where($2 > 0, -inf, $1)".',
    ),
    (
        lambda: Block(Id("m"), "A", "linearr"),
        "Block 'A': there is no role 'linearr'. Try linear.",
    ),
    (
        lambda: Block(Id("m"), "A\x00"),
        "Block: title is 'A\\x00', which cannot be printed. Try plain text.",
    ),
    (lambda: nested(201), "the term is nested more than 200 deep. Try a flatter term."),
    (lambda: doubled(17), "the term has more than 50,000 parts. Try fewer."),
]


def nested(depth: int) -> ncd.Term:
    """Blocks in blocks."""
    return reduce(lambda term, _: Block(term, ""), range(depth), Id("m:2"))


def doubled(times: int) -> ncd.Term:
    return reduce(lambda term, _: term >> term, range(times), Linear("m:2 -> m", "L"))


SYSTEMS: list[tuple[Call, str]] = [
    (
        lambda: ncd.catalogue["multi-head-atention"],
        "there is no system 'multi-head-atention'. Try multi-head-attention.",
    ),
    (
        lambda: ncd.catalogue["zzz"],
        "there is no system 'zzz'. Try a name that ncd list prints.",
    ),
    (
        lambda: MHA.build(heads=3),
        "multi-head-attention: there is no knob 'heads'. Try one of h, k, m, y, x, causal.",
    ),
    (lambda: MHA.build(h=0), "h is 0, but it is 1 or more. Try h = 1."),
    (lambda: MHA.build(causal=2), "causal is 2, but it goes from 0 to 1. Try causal = 1."),
    (
        lambda: MHA.build(h=10**5000),
        "axis h has size a number of thousands of digits, but a size is a whole number, at most "
        "1,000,000,000,000. Try h = 1000000000000.",
    ),
    (
        lambda: MHA.preset("gpt-2-smal"),
        "multi-head-attention: there is no preset 'gpt-2-smal'. Try gpt-2-small.",
    ),
    *[
        (
            lambda value=value: MHA.build(h=value),
            f"h is {value!r}, but it is a whole number. Try h = 4.",
        )
        for value in (2.5, True, "3", math.nan, None)
    ],
    (
        lambda: BLOCK.build(n1=7),
        "n1 is 7, but it is a multiple of 4, 4 or more. Try n1 = 8.",
    ),
]

NEED = peak(ncd.elaborate(MHA.build()))


def square(size: int) -> ncd.Term:
    return Axes(m=size, k=size)(Id("m") >> Linear("m -> k", "Q"))


RUNS: list[tuple[Call, str]] = [
    (
        lambda: ncd.compile(MHA.build(), device="tpu"),
        f"this machine has no device 'tpu'. Try {' or '.join(ncd.devices())}.",
    ),
    (
        lambda: ncd.example_inputs(MHA.build(), device="cuda:99"),
        f"this machine has no device 'cuda:99'. Try {' or '.join(ncd.devices())}.",
    ),
    (
        lambda: ncd.compile(MHA.build(), limits=Limits(bytes=200_000)),
        f"Linear O: the run needs {NEED:,} bytes of memory, and the limit NCD_MAX_BYTES is "
        "200,000. Bound so far: y 20, k 16, h 4, m 128. Try m = 81.",
    ),
    (
        lambda: ncd.compile(MHA.build(), limits=Limits(flops=10**6)),
        "Linear K: the run needs 1,488,896 floating-point operations, and the limit "
        "NCD_MAX_FLOPS is 1,000,000. Bound so far: x 22, m 128, k 16, h 4. Try m = 82.",
    ),
    (
        lambda: ncd.compile(square(10**9), limits=Limits(flops=10**40)),
        "Linear Q: the run needs 8,000,000,012,000,000,064 bytes of memory, and the limit "
        "NCD_MAX_BYTES is 2,000,000,000. Bound so far: m 1000000000, k 1000000000. "
        "Try smaller sizes.",
    ),
    (
        lambda: ncd.compile(square(10**12)),
        "Linear Q: the run needs 2,000,000,000,000,000,000,000,000 floating-point operations, and "
        "the limit NCD_MAX_FLOPS is 200,000,000,000. "
        "Bound so far: m 1000000000000, k 1000000000000. Try smaller sizes.",
    ),
    (
        lambda: ncd.example_inputs(Id("m:1000000000000")),
        "Input: the inputs take 4,000,000,000,000 bytes of memory, and the limit NCD_MAX_BYTES is "
        "2,000,000,000. Bound so far: m 1000000000000. Try smaller sizes.",
    ),
    (
        lambda: ncd.compile(Id("m:3"))(torch.ones(3, dtype=torch.int64)),
        "the array (m) holds real numbers, but the tensor is of type torch.int64. "
        "Bound so far: m 3. Try x.float().",
    ),
    (
        lambda: ncd.compile(Id("m:3#v:4"))(torch.ones(3)),
        "the array (m#v) holds whole numbers, but the tensor is of type torch.float32. "
        "Bound so far: m 3. Try x.long().",
    ),
    (
        lambda: ncd.compile(Id("m:3#v:4"))(torch.tensor([1, 2, 4])),
        "the array (m#v) holds whole numbers from 0 to 3, but the tensor has 4. "
        "Bound so far: m 3, v 4. Try x.clamp(0, 3).",
    ),
    (
        lambda: ncd.compile(Id("m:3"))(torch.ones(4)),
        "the array (m) has shape (3,), but the tensor has (4,). Bound so far: m 3. "
        "Try a tensor of shape (3,), or with batch axes in front of it.",
    ),
    (
        lambda: ncd.compile(MHA.build())(torch.ones(20, 128)),
        "the module takes 2 tensors, one for each of (y m, x m), but got 1. "
        "Bound so far: y 20, m 128, x 22. Try *ncd.example_inputs(term).",
    ),
    (
        lambda: ncd.compile(MHA.build())(torch.ones(2, 20, 128), torch.ones(3, 22, 128)),
        "the batch axes in front of the arrays differ: (2,), (3,). "
        "Bound so far: y 20, m 128, x 22. Try the same batch axes in front of all.",
    ),
]

EXPORTED = "Try the text of an exported term."
DEEP = '{"term":"Block","title":"","body":'
JSON: list[tuple[str, str]] = [
    ("", f"this is not JSON: Expecting value: line 1 column 1 (char 0). {EXPORTED}"),
    ("[]", 'a term is an object with the field term. Try {"term": "Id", "type": "m"}.'),
    ('{"term": 3}', 'a term is an object with the field term. Try {"term": "Id", "type": "m"}.'),
    ('{"term": "Sofmax", "axis": "x"}', "there is no kind of term 'Sofmax'. Try Softmax."),
    (
        '{"term": "zzz"}',
        """there is no kind of term 'zzz'. Try {"term": "Id", "type": "m"}.""",
    ),
    ('{"term": "Id"}', "Id lacks the field type. Try its fields: type."),
    ('{"term": "Id", "type": "m", "x": 1}', "Id has no field 'x'. Try its fields: type."),
    ('{"term": "Id", "type": 3}', 'Id: type is 3, but it is text. Try "y m, x m".'),
    ('{"term": "Id", "type": "m:0"}', f"Id: axis m has size 0, {WHOLE} Try m = 1."),
    ('{"term": "Id", "type": "m!"}', f"Id: 'm!' {AXIS}"),
    (
        '{"term": "Then", "steps": []}',
        f"Then.steps is [], but it is a list of terms, one or more. {EXPORTED}",
    ),
    (
        '{"term": "Then", "steps": [3]}',
        'a term is an object with the field term. Try {"term": "Id", "type": "m"}.',
    ),
    (
        '{"term": "Block", "body": "Id", "title": ""}',
        f"Block.body is 'Id', but it is a term. {EXPORTED}",
    ),
    (
        '{"term": "Conv", "pattern": "c:2 x:4 -> d:3 x", "kernel": "3"}',
        "Conv: the kernel is '3', but it is a whole number, 1 or more. Try kernel = 1.",
    ),
    (
        '{"term": "Conv", "pattern": "c:2 x:4 -> d:3 x", "padding": true}',
        "Conv: the padding is True, but it is a whole number, 0 or more. Try padding = 0.",
    ),
    (
        '{"term": "Linear", "pattern": "m:2 -> d:3", "bias": 1}',
        "Linear: bias is 1, but it is True or False. Try bias=True.",
    ),
    (
        DEEP * 300 + '{"term":"Id","type":"m"}' + "}" * 300,
        "the term is nested more than 200 deep. Try a flatter term.",
    ),
    ("[" * 100_000, "the term is nested more than 200 deep. Try a flatter term."),
]

CASES = (*SIZES, *MEETINGS, *DIVISIONS, *TEXTS, *SYSTEMS, *RUNS)


@pytest.mark.parametrize(("call", "message"), CASES, ids=[case[1][:60] for case in CASES])
def test_the_whole_message(call: Call, message: str) -> None:
    with pytest.raises(ncd.NCDError) as caught:
        call()
    assert str(caught.value) == message
    assert "\n" not in message


@pytest.mark.parametrize(("text", "message"), JSON, ids=[case[1][:60] for case in JSON])
def test_the_whole_message_of_bad_json(text: str, message: str) -> None:
    with pytest.raises(ncd.NCDError) as caught:
        ncd.from_json(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", ["lots", "-1", "0", "nan", "inf"])
@pytest.mark.parametrize(
    ("name", "default"), [("NCD_MAX_BYTES", 2 * 10**9), ("NCD_MAX_FLOPS", 2 * 10**11)]
)
def test_a_limit_that_is_no_number(
    name: str, default: int, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ncd.LimitError) as caught:
        ncd.compile(MHA.build())
    assert str(caught.value) == (
        f"{name} is {value!r}, but it is a number, 1 or more. Try {name}={default}."
    )


def test_a_limit_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", "2e5")
    with pytest.raises(ncd.LimitError, match=r"limit NCD_MAX_BYTES is 200,000\."):
        ncd.compile(MHA.build())
    monkeypatch.setenv("NCD_MAX_BYTES", f"{NEED:e}")
    ncd.compile(MHA.build())


@pytest.mark.parametrize("limits", [Limits(bytes=200_000), Limits(flops=10**6)])
def test_what_a_refusal_suggests_fits_and_one_more_does_not(limits: Limits) -> None:
    with pytest.raises(ncd.LimitError) as caught:
        ncd.compile(MHA.build(), limits=limits)
    name, _, size = str(caught.value).split("Try ")[1].rstrip(".").partition(" = ")
    ncd.compile(MHA.build(**{name: int(size)}), limits=limits)
    with pytest.raises(ncd.LimitError):
        ncd.compile(MHA.build(**{name: int(size) + 1}), limits=limits)


class Real(Storages):
    """Counts the memory that is really taken."""

    def _add(self, tensor: torch.Tensor) -> None:
        if not isinstance(tensor, FakeTensor):
            super()._add(tensor)

    def _add_scratch(self, func: object, args: object, made: object) -> None:
        pass


def test_nothing_is_allocated_before_it_is_counted() -> None:
    with Real() as counted, pytest.raises(ncd.LimitError):
        ncd.compile(square(10**6))
    with counted, pytest.raises(ncd.LimitError):
        ncd.example_inputs(Id("m:1000000000000"))
    assert counted.peak == 0


def test_an_error_carries_the_op_and_the_sketch_for_the_drawing() -> None:
    sketch = Id("b c") >> BatchNorm("b c")
    with pytest.raises(ncd.SizeError) as caught:
        Axes(b=1, c=3)(sketch)
    assert isinstance(caught.value.op, BatchNorm)
    assert caught.value.sketch == sketch
    assert (caught.value.axis, caught.value.nearest) == ("b", 2)


def test_what_is_no_term_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = Id("m") >> 3
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = Id("m") @ "x"
