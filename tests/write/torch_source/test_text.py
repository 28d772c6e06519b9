"""The source of a term reads as a person would write it, and no name breaks it."""

from __future__ import annotations

import ast

import pytest
import torch
from hypothesis import HealthCheck, given, settings

import ncd
from ncd import (
    Add,
    Block,
    Copy,
    Einsum,
    Elementwise,
    Id,
    Index,
    LayerNorm,
    Linear,
    Map,
    Named,
    Param,
    Repeat,
    Scale,
    Scan,
    Softmax,
    Top,
)
from ncd.write.torch_source.line_breaking import (
    WIDTH,
    Code,
    bracketed_code,
    break_lines,
    infix,
    method,
)
from ncd.write.torch_source.source_file import lines, source
from tests.support.sampling import sample
from tests.support.strategies import terms
from tests.support.written_source import written
from tests.write.torch_source.agreement import agree, reads_well

MULTI_HEAD_ATTENTION = '''\
import math

from einops import einsum, rearrange
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """y m, x m -> y m"""

    def __init__(self, m: int = 128, k: int = 16, h: int = 4):
        super().__init__()
        self.k, self.h = k, h
        self.Q = nn.Linear(m, k * h, bias=False)
        self.K = nn.Linear(m, k * h, bias=False)
        self.V = nn.Linear(m, k * h, bias=False)
        self.O = nn.Linear(k * h, m, bias=False)

    def forward(self, y: Tensor, x: Tensor) -> Tensor:
        # Linear
        q = rearrange(self.Q(y), "... (k h) -> ... k h", h=self.h)
        k = rearrange(self.K(x), "... (k h) -> ... k h", h=self.h)
        v = rearrange(self.V(x), "... (k h) -> ... k h", h=self.h)

        # Scaled Dot-Product Attention
        scores = einsum(q, k, "... y k h, ... x k h -> ... y x h")
        scores = scores / math.sqrt(self.k)
        weights = scores.softmax(-2)
        out = einsum(weights, v, "... y x h, ... x k h -> ... y k h")

        # Linear
        return self.O(rearrange(out, "... k h -> ... (k h)"))
'''
ON_TORCH_ALONE = """\
        q = self.Q(y).unflatten(-1, (-1, self.h))
        k = self.K(x).unflatten(-1, (-1, self.h))
        v = self.V(x).unflatten(-1, (-1, self.h))

        # Scaled Dot-Product Attention
        scores = torch.einsum("...ykh,...xkh->...yxh", q, k)
        scores = scores / math.sqrt(self.k)
        weights = scores.softmax(-2)
        out = torch.einsum("...yxh,...xkh->...ykh", weights, v)

        # Linear
        return self.O(out.flatten(-2))
"""
SCAN = """\
    def forward(self, n: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        outs = []
        for x_t in x.unbind(-2):
            n, out = self.step(n, x_t)
            outs.append(out)
        x = torch.stack(outs, dim=-2)
        return n, x
"""


def forward(term: ncd.Term, einops: bool = True) -> list[str]:
    """The statements of the last method."""
    text = source(term, einops=einops).rpartition("def forward")[2]
    return [line.strip() for line in text.splitlines()[1:]]


def test_multi_head_attention_is_worth_reading() -> None:
    text = source(ncd.catalogue["multi-head-attention"].build())
    assert text == MULTI_HEAD_ATTENTION
    alone = source(ncd.catalogue["multi-head-attention"].build(), einops=False)
    assert alone.endswith(ON_TORCH_ALONE)
    assert "einops" not in alone
    reads_well(text, alone)


@pytest.mark.few(20)
@pytest.mark.parametrize("name", list(ncd.catalogue))
def test_the_catalogue_reads_well(name: str) -> None:
    term, title = ncd.catalogue[name].build(), ncd.catalogue[name].title
    texts = [source(term, title, einops=einops) for einops in sample([True, False], 1, name)]
    reads_well(*texts)
    assert max(len(line) for text in texts for line in text.splitlines()) <= 100


def test_more_than_three_results_are_not_counted_in_the_hint() -> None:
    sine = ncd.Elementwise("sin")
    for some, hint in (
        (sine, "Tensor"),
        (sine @ sine @ sine, "tuple[Tensor, Tensor, Tensor]"),
        (sine @ sine @ sine @ sine, "tuple[Tensor, ...]"),
    ):
        count = hint.count("Tensor") + hint.count("...") * 3
        text = source(ncd.Id(", ".join(["m:4"] * count)) >> some)
        assert f" -> {hint}:" in text


def test_a_long_line_breaks_before_an_operator() -> None:
    name = "x" * 60
    left = method(bracketed_code(f"{name}(", (Code("first"), Code("second"))), "float", ())
    made = break_lines(
        bracketed_code("f(", (infix("/", left, infix("**", Code(name), Code("2"))),)), 4
    )
    assert made == [
        "    f(",
        f"        {name}(first, second).float()",
        f"        / {name}**2",
        "    )",
    ]
    wide = method(bracketed_code("g(", (Code(name), Code(name))), "float", ())
    assert break_lines(wide, 4) == [
        "    g(",
        f"        {name},",
        f"        {name},",
        "    ).float()",
    ]


@pytest.mark.parametrize("n", range(40, 110))
def test_code_breaks_where_a_line_is_too_long_and_not_before(n: int) -> None:
    """Of a line, and of what stands in its bracket."""
    a, b = Code("a" * (n // 2)), Code("b" * (n - n // 2))
    inside = 8 + n + len(", ") <= WIDTH  # an item of a list has a line of its own
    for head, end, few in (("a_function_of_arrays(", ")", 3), ("a_list_of_arrays = [", "]", 4)):
        code = bracketed_code(head, (a, b), end)
        fits = 4 + len(code.text) + len(",") <= WIDTH
        lines = break_lines(code, 4, ",")
        assert len(lines) == (1 if fits else few if inside else 4)
        assert max(map(len, lines)) <= WIDTH
        assert lines[0][:5] == f"    {head[0]}" and lines[-1].endswith(f"{end},")


@pytest.mark.parametrize("n", range(40, 90))
def test_a_sum_breaks_at_its_last_bracket_or_before_its_operator(n: int) -> None:
    first = bracketed_code("f(", (Code("a" * n),))
    total = infix("+", first, bracketed_code("g(", (Code("b" * 9),)))
    lines = break_lines(bracketed_code("a_function(", (total,)), 4)
    if 4 + len(f"a_function({total.text})") <= WIDTH:
        assert lines == [f"    a_function({total.text})"]
    elif 8 + len(total.text) <= WIDTH:
        assert lines == ["    a_function(", f"        {total.text}", "    )"]
    elif 8 + len(f"{first.text} + g(") <= WIDTH:
        inner = [f"        {first.text} + g(", f"            {'b' * 9}", "        )"]
        assert lines == ["    a_function(", *inner, "    )"]
    else:
        assert lines == [
            "    a_function(",
            f"        {first.text}",
            f"        + g({'b' * 9})",
            "    )",
        ]


@pytest.mark.parametrize("n", range(40, 110))
def test_a_chain_of_three_methods_has_a_line_for_each(n: int) -> None:
    two = method(method(Code("x"), "permute", (Code("a" * n),)), "softmax", (Code("-1"),))
    three = method(two, "flatten", (Code("1"), Code("b" * 20)))
    links = [f"x.permute({'a' * n})", ".softmax(-1)", f".flatten(1, {'b' * 20})"]
    for code, parts in ((two, links[:2]), (three, links)):
        lines = break_lines(code.with_prefix("return "), 4)
        if 4 + len(f"return {code.text}") <= WIDTH:
            assert lines == [f"    return {code.text}"]
        elif len(parts) == 3 and 8 + max(map(len, parts)) <= WIDTH:
            assert lines == ["    return (", *(f"        {part}" for part in parts), "    )"]
        else:  # at the last bracket
            assert lines[0] == f"    return {code.text[: code.text.rindex('(') + 1]}"


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(terms(steps=8))
def test_random_terms_read_well(term: ncd.Term) -> None:
    reads_well(source(term), source(term, einops=False))


# --- names ---------------------------------------------------------------------------------------


def test_a_result_is_named_after_its_op_its_layer_or_what_it_was() -> None:
    body = LayerNorm("m") >> Linear("m -> w:8", "up") >> Elementwise("relu")
    body >>= Linear("w -> m:6", "down")
    assert forward(Id("y:3 m:6") >> Copy("y m") >> body @ Id("y m") >> Add()) == [
        "out = self.norm(x)",
        "up = self.up(out)",
        "up = F.relu(up)",
        "down = self.down(up)",
        "return down + x",
    ]


def test_an_input_is_named_by_what_stands_at_it_or_by_its_first_axis() -> None:
    term = Named("m:3", "query") @ Id("k:2 m") >> Einsum("m, k m -> k", "scores")
    text = source(term)
    assert "def forward(self, query: Tensor, k: Tensor) -> Tensor:" in text
    assert forward(term >> Softmax("k"))[0].startswith("scores = einsum(query, k, ")
    assert "def forward(self, x: Tensor)" in source(Softmax("k:2"))


def test_a_number_only_where_it_is_needed() -> None:
    term = Copy("m:3") >> Linear("m -> m") @ Id("m") >> Copy("m") >> Linear("m -> m") @ Id("m, m")
    text = source(term >> Linear("m -> m"))
    assert "_2_2" not in text and "x_3" not in text


def test_a_class_is_named_after_the_entry_the_block_or_the_op() -> None:
    assert "class Attention(" in source(Softmax("x:3"), "attention")
    assert "class BestPart(" in source(Block(Softmax("x:3") >> Softmax("x"), "best part"))
    assert "class Softmax(" in source(Softmax("x:3"))
    assert "class Net(" in source(Softmax("x:3") >> Softmax("x"))


def test_classes_of_one_title_are_told_apart_by_their_own_names() -> None:
    one, two = Linear("m:3 -> m:3", "Q"), Linear("m:3 -> m:3", "Q") >> Softmax("m")
    term = Block(one, "Part", name="first") >> Block(two, "Part", name="second")
    text = source(term, "Whole")
    assert [line.split("(")[0] for line in text.splitlines() if line.startswith("class ")] == [
        "class Part",
        "class Second",
        "class Whole",
    ]


def test_several_outputs_are_taken_at_once() -> None:
    assert forward(Top("e:5 -> k:2"))[0] == "return torch.topk(x, self.k, dim=-1)"
    assert ", k = torch.topk(x, self.k, dim=-1)" in forward(Top("e:5 -> k:2") >> Softmax("k"))[0]


def test_no_brackets_that_are_not_needed() -> None:
    term = Map("x, x, x -> x", "($1 + $2) * $3 - ($1 - ($2 - $3)) ** 2 / ($1 * $2)")
    arrays = Id("x:3, x, x") >> term
    (line,) = forward(arrays)
    assert line == "return (x + x_2) * x_3 - (x - (x_2 - x_3)) ** 2 / (x * x_2)"


def test_what_stands_twice_is_computed_once() -> None:
    term = Id("x:3") >> Map("x -> x", "exp($1) / (1 + exp($1))")
    text = source(term)
    assert text.count("torch.exp") == 1
    agree(term)


def test_a_scan_is_a_loop_over_positions() -> None:
    step = Id("n, n") >> Add() >> Copy("n")
    assert SCAN in source(Id("n:2") @ Named("t:3 n", "x") >> Scan(step, "t"))


def test_a_parameter_begins_as_it_says() -> None:
    begins = {
        None: "0.02 * torch.randn(v, m)",
        "normal": "torch.randn(v, m)",
        "0": "torch.zeros(v, m)",
        "1": "torch.ones(v, m)",
        "uniform / sqrt(n_m)": "(2 * torch.rand(v, m) - 1) / math.sqrt(m)",
        "0.5": "torch.full((v, m), 0.5)",
    }
    for init, text in begins.items():
        term = Param("v:2 m:4", "wte", init)
        assert f"self.wte = nn.Parameter({text})" in source(term), init
        agree(term)


@pytest.mark.parametrize(
    ("array", "init"),
    [
        ("t:3 m:2", "t + 10 * m"),
        ("x:2x3 m:2", "x + 10 * m"),
        ("x:2x3x2", "x * n_x"),
        ("m:3", "pi * m - e"),
        ("x:2x3 m:2", "n_x + n_m"),
        ("x:2x1", "where(x > 0, inf, 1)"),
    ],
)
def test_a_parameter_begins_with_the_numbers_of_its_formula(array: str, init: str) -> None:
    term = Param(array, "w", init)
    begun, own = written(term).state_dict(), ncd.compile(term).state_dict()
    torch.testing.assert_close(begun["w"], own["w"])


def test_new_arrays_are_like_a_weight_of_the_class() -> None:
    """A parameter of its own, the weight of a layer, or an empty array where nothing is learned."""
    new = Map("-> y:3 m:2", "y")
    for term, like in (
        (new >> Linear("m -> k:4", "L"), "self.L.weight"),
        (new @ Param("y:3 m:2", "w") >> Add(), "self.w"),
        (new >> Softmax("m"), "self.like"),
    ):
        assert f"torch.arange(self.y, device={like}.device)" in source(term)
        agree(term)


def test_a_list_with_a_line_for_each_part_tells_which_ops_each_makes() -> None:
    kinds = ("tanh", "exp", "relu")
    blocks = (
        Block(Linear("m:3 -> m", "Q") >> Elementwise(f), f"A part of kind {f}") for f in kinds
    )
    found = {line.text.strip(): line.nodes for line in lines(Repeat((*blocks,) * 2, "parts"))}
    for i, kind in enumerate(kinds):
        last = i + 3  # each class is made twice: the line of the second one is kept here
        assert found[f"APartOfKind{kind.title()}(m),"] == (f"n{2 * last}", f"n{2 * last + 1}")
    every = tuple(f"n{i}" for i in range(12))
    assert [found[text] for text in ("self.parts = nn.ModuleList(", "[", "]")] == [every] * 3


def test_a_long_type_is_told_whole() -> None:
    names = [f"some_axis_of_a_long_name_{c}" for c in "abcdefgh"]
    taken = Id(", ".join(f"{name}:2" for name in names))
    (net,) = (n for n in ast.parse(source(taken)).body if isinstance(n, ast.ClassDef))
    said = " ".join((ast.get_docstring(net) or "").split())
    assert said == f"{', '.join(names)} -> {', '.join(names)}"


Q, SUM = Linear("m:3 -> m:3", "Q"), Id("m:3, m") >> Add()
STEP = Id("n, n") >> Linear("n -> n", "W") @ Id("n") >> Add() >> Copy("n")
LONG = "exp($1 * $2) * sin($1 + $2) + cos($1 - $2) * tanh($1 * $1 + $2 * $2)"
WRITTEN = {  # what runs a repetition, a scan or a long formula: the lines of the last method
    "one part": (Repeat((Q,), "layers"), ["return self.layers[0](x)"]),
    "parts that save": (
        Repeat((Q >> Copy("m"),) * 2, "layers"),
        ["x, skip = self.layers[0](x)", "x, skip_2 = self.layers[1](x)", "return x, skip_2, skip"],
    ),
    "parts that take up": (
        Repeat((SUM >> Q,) * 2, "layers"),
        ["m = self.layers[0](m, m_2)", "return self.layers[1](m, m_3)"],
    ),
    "several arrays": (
        Id("m:3, k:2") >> Repeat((Linear("m -> m", "A") @ Linear("k -> k", "B"),) * 2, "layers"),
        ["for layer in self.layers:", "m, k = layer(m, k)", "return m, k"],
    ),
    "a method for each kind": (
        Repeat((Q, Q >> Elementwise("tanh")), shared=True),
        ["x = self.layers(x)", "return self.layers.forward_2(x)"],
    ),
    "one part many times": (
        Repeat((Q,) * 2, shared=True),
        ["for _ in range(2):", "x = self.layers(x)", "return x"],
    ),
    "a scan": (
        Id("n:2, t:3 n") >> Scan(STEP, "t", "cell"),
        ["outs = []", "for x_t in t.unbind(-2):", "n, out = self.cell(n, x_t)", "outs.append(out)",
         "x = torch.stack(outs, dim=-2)", "return n, x"],
    ),
    "a layer with a number": (
        Linear("m:3 -> m:3", "W2") >> Elementwise("relu"),
        ["x = self.W2(x)", "return F.relu(x)"],
    ),
    "a scan of a picture": (
        Id("n:2, x:2x3 n") >> Scan(STEP, "x", "cell"),
        ["outs = []", "for x_x in x.flatten(-3, -2).unbind(-2):", "n, out = self.cell(n, x_x)",
         "outs.append(out)", "x = torch.stack(outs, dim=-2).unflatten(-2, (2, 3))", "return n, x"],
    ),
    "a long formula": (
        Id("x:3, x") >> Map("x, x -> x", f"{LONG} - exp($2) * exp($1 + 3 * $2)"),
        ["part = torch.tanh(x * x + x_2 * x_2)", "x_3 = torch.exp(x + 3 * x_2)",
         "x_4 = torch.exp(x * x_2)",
         "return x_4 * torch.sin(x + x_2) + torch.cos(x - x_2) * part - torch.exp(x_2) * x_3"],
    ),
    "numbers beside positions": (
        Id("x:3, y:3#v:5") >> Map("x, y#v -> x y w:2", "$1 + $2 + w"),
        ["w_pos = torch.arange(self.w, device=x.device)",
         "return x[..., None, None] + y[..., None, :, None].to(x.dtype) + w_pos.to(x.dtype)"],
    ),
    "places alone": (
        Id("y:3#v:5") >> Map("y#v -> y w:2", "where($1 > w, 1, 0)"),
        ["w_pos = torch.arange(self.w, device=self.like.device)",
         "return torch.where(x[..., None] > w_pos, 1, 0).to(self.like.dtype)"],
    ),
    "places beside numbers": (
        Id("y:3#v:5, x:2") >> Map("y#v -> y w:2", "$1 * w") @ Softmax("x"),
        ["out = (y[..., None] * torch.arange(self.w, device=x.device)).to(x.dtype)",
         "weights = x.softmax(-1)", "return out, weights"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_a_method_is_written_as_a_person_would(name: str) -> None:
    term, said = WRITTEN[name]
    assert forward(term) == said
    agree(term)


# --- classes -------------------------------------------------------------------------------------


def layer(wide: int, title: str = "") -> ncd.Term:
    inner = Linear(f"m -> w:{wide}", "up") >> Elementwise("relu") >> Linear("w -> m:6", "down")
    body = Id("y:3 m:6") >> Copy("y m") >> inner @ Id("y m") >> Add()
    return Block(body, title) if title else body


def test_a_repetition_is_a_class_made_many_times() -> None:
    term = Repeat((layer(8, "Feed-Forward"),) * 3)
    text = source(term, "Stack")
    assert "self.layers = nn.ModuleList(FeedForward(m, w) for _ in range(3))" in text
    assert "        for layer in self.layers:\n            x = layer(x)\n        return x" in text
    assert text.count("class ") == 2


def test_the_variable_of_a_loop_is_no_tensor() -> None:
    """``x`` in ``for x in self.x`` is a layer, even where the input was called x."""
    layers = Repeat((Block(Linear("m -> m", "L"), "Layer"),) * 2, "x")
    term = Id("m:3") >> Linear("m -> m", "Q") >> layers >> Map("-> b:4", "b / 2")
    assert "for x in self.x:" in source(term)
    assert "x = torch.arange(self.b, device=q.device).to(q.dtype) / 2" in source(term)
    agree(term)


def test_the_variable_of_a_loop_leaves_the_memory_its_name() -> None:
    body = Id("m:3") @ Linear("k:4 -> m:3", "V") >> Add()
    term = Repeat((body,) * 2, "ks", memory=1)
    assert "        for k_2 in self.ks:\n            m = k_2(m, k)\n" in source(term)
    agree(term)


def test_a_shared_repetition_is_one_module() -> None:
    text = source(Repeat((layer(8),) * 3, shared=True), "Stack")
    assert "self.layers = Layers(m, w)" in text
    assert "        for _ in range(3):\n            x = self.layers(x)\n        return x" in text


def test_sizes_may_differ_from_body_to_body() -> None:
    term = Repeat((layer(8), layer(9), layer(9)))
    made = "nn.ModuleList([Layer(m, w), Layer(m, w_2), Layer(m, w_2)])"
    assert made in source(term, "Stack")
    agree(term)


@pytest.mark.parametrize("y", [2, 3])
def test_bodies_of_one_class_may_read_different_axes(y: int) -> None:
    """Also where the axes have the same size, and the two calls differ only in a name."""

    def scaled(axis: str) -> ncd.Term:
        return Block(Id("m y") >> Scale(axis), "Scaled")

    term = ncd.Axes(m=2, y=y)(Id("m y") >> Repeat((scaled("m"), scaled("y")), "blocks"))
    text = source(term, "Stack")
    assert "self.blocks = nn.ModuleList([Scaled(m), Scaled(y)])" in text
    agree(term)
    found = written(term, m=2, y=8)(torch.ones(2, 8))  # at another size than the term's
    assert torch.allclose(found, torch.full((2, 8), 0.25))


def test_bodies_that_differ_have_classes_of_their_own() -> None:
    other = Id("y:3 m:6") >> Softmax("y")
    term = Copy("y:3 m:6") >> Repeat((layer(8), other, layer(9)), "steps") @ Id("y m") >> Add()
    text = source(term, "Stack")
    assert "self.steps = nn.ModuleList([Step(m, w), Step2(), Step(m, w_2)])" in text
    agree(term)


def test_names_of_its_own_are_those_of_the_class() -> None:
    part = Block(Linear("m -> k:2", "Q"), "Part", name="part", local=True)
    text = source(Id("y:3 d:8") >> part, "Whole")
    assert '"""y m -> y k"""' in text
    assert "def __init__(self, d: int = 8, k: int = 2):" in text
    assert "self.part = Part(d, k)" in text


def test_one_name_with_two_sizes_is_two_parameters() -> None:
    term = Linear("m:3 -> k:4", "Q") @ Linear("m:5 -> k:6 h:2", "K")
    assert "m: int = 3, k: int = 4, m_2: int = 5, k_2: int = 6, h: int = 2" in source(term)


# --- lines ---------------------------------------------------------------------------------------


def test_every_line_knows_its_ops() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    circuit = ncd.elaborate(term)
    found = lines(term)
    assert "".join(f"{line.text}\n" for line in found) == source(term)
    query = next(cell.id for cell in circuit.cells if cell.name == "Q")
    assert [line.text.strip() for line in found if query in line.nodes] == [
        "self.Q = nn.Linear(m, k * h, bias=False)",
        "# Linear",
        'q = rearrange(self.Q(y), "... (k h) -> ... k h", h=self.h)',
    ]


def test_the_lines_of_a_shared_class_know_the_ops_of_every_body() -> None:
    term = Repeat((layer(8), layer(9), layer(8)))
    ups = {cell.id for cell in ncd.elaborate(term).cells if cell.name == "up"}
    (line,) = [line for line in lines(term) if "self.up = " in line.text]
    assert set(line.nodes) == ups and len(ups) == 3


@pytest.mark.parametrize("letters", range(4, 30))
def test_stored_sizes_stand_in_one_line_if_it_is_not_too_long(letters: int) -> None:
    names = [f"{'k' * letters}{i}" for i in "abc"]
    term = ncd.Axes(m=3, h=2, **dict.fromkeys(names, 2))(
        ncd.Then(*(Linear(f"m -> h {name}") >> Linear(f"h {name} -> m") for name in names))
    )
    text = source(term)
    assert max(map(len, text.splitlines())) <= 100
    assert all(f"self.{name}" in text for name in names)
    stored = [line for line in text.splitlines() if line.strip().startswith("self.k")]
    both = "        " + ", ".join(f"self.{name}" for name in names) + " = " + ", ".join(names)
    assert (len(stored) == 1) == (len(both) <= 100)


def test_a_list_of_equal_layers_is_written_once_and_that_of_one_layer_as_it_is() -> None:
    assert "nn.ModuleList([Layer(m)])" in source(Repeat((Linear("m:3 -> m"),)))
    assert "nn.ModuleList(Layer(m) for _ in range(2))" in source(Repeat((Linear("m:3 -> m"),) * 2))


def test_an_index_with_a_batch_looks_up_a_learned_table_by_an_embedding() -> None:
    term = ncd.Axes(y=3, v=9, m=4)(Id("y#v") @ Param("v m", "E") >> Index("y#v, v m -> y m"))
    assert "        return F.embedding(x, self.E)\n" in source(term)


def test_a_norm_that_takes_no_batch_says_so() -> None:
    """Its layer wants channels second, so that ``...`` in front would promise what fails."""
    text = ncd.source(ncd.GroupNorm("c:4 x:3x3", groups=2))
    assert 'rearrange(x, "c x_h x_w -> 1 c x_h x_w")' in text and "..." not in text
    text = ncd.source(ncd.catalogue["diffusion-unet"].build())
    assert '"... ' not in "".join(line for line in text.splitlines() if " 1 " in line)
