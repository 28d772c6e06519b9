"""Systems as functions of named arrays: in Python, as text, and back."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import ncd
from ncd import Einsum, Elementwise, Linear, Map, Param, Term, TextError, Wire
from ncd.errors import MismatchError, NCDError

DELTA = """
@define(h=2, v=4, k=3)
def step(S: "h v k", k: "h k", v: "h v", a: "h", b: "h", q: "h k"):
    S = Map("h v k, h -> h v k", "$1 * $2", "decay")(S, a)
    old = Einsum("h v k, h k -> h v")(S, k)
    d = Map("h v, h v, h -> h v", "$3 * ($2 - $1)", "delta")(old, v, b)
    S = Map("h v k, h k, h v -> h v k", "$1 + $2 * $3", "write")(S, k, d)
    return S, Einsum("h v k, h k -> h v")(S, q)
"""


@ncd.define(h=2, v=4, k=3)
def delta(S: "h v k", k: "h k", v: "h v", a: "h", b: "h", q: "h k"):  # type: ignore  # noqa
    S = Map("h v k, h -> h v k", "$1 * $2", "decay")(S, a)
    old = Einsum("h v k, h k -> h v")(S, k)
    d = Map("h v, h v, h -> h v", "$3 * ($2 - $1)", "delta")(old, v, b)
    S = Map("h v k, h k, h v -> h v k", "$1 + $2 * $3", "write")(S, k, d)
    return S, Einsum("h v k, h k -> h v")(S, q)


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_the_delta_rule_is_the_recurrence_of_its_paper() -> None:
    """Yang et al. 2024, "Gated Delta Networks", equation 10."""
    S, k, v, q = (numbers(2, *n, seed=i) for i, n in enumerate([(4, 3), (3,), (4,), (3,)]))
    a, b = numbers(2, seed=5).sigmoid(), numbers(2, seed=6).sigmoid()
    made, read = ncd.compile(delta)(S, k, v, a, b, q)

    outer = b[:, None, None] * k[:, :, None] * k[:, None]
    wanted = a[:, None, None] * S @ (torch.eye(3) - outer)
    wanted = wanted + b[:, None, None] * v[:, :, None] * k[:, None]
    assert torch.allclose(made, wanted, atol=1e-6)
    assert torch.allclose(read, (wanted @ q[..., None])[..., 0], atol=1e-6)


def test_a_text_says_the_same_as_python() -> None:
    assert ncd.parse(DELTA) == delta


def test_unused_equal_and_returned_arrays() -> None:
    @ncd.define
    def term(x: "t m", y: "t m", z: "t k"):  # type: ignore  # noqa: F722
        return y, x, y

    made = ncd.compile(ncd.Axes(t=2, m=3, k=4)(term))
    x, y, z = numbers(2, 3), numbers(2, 3, seed=1), numbers(2, 4)
    assert [torch.equal(a, b) for a, b in zip(made(x, y, z), (y, x, y), strict=True)] == [True] * 3


def test_terms_without_arrays_and_terms_of_several() -> None:
    pair = Wire("m -> m, m")

    @ncd.define(t=2, m=3, k=4)
    def term(x: "t m"):  # type: ignore  # noqa: F722
        table = Param("m k", "W", "normal")()
        one, two = pair(x)
        return (Linear("m -> k", "V") >> Elementwise("relu"))(one), Einsum("t m, m k -> t k")(
            two, table
        )

    made = ncd.compile(term)
    x, own = numbers(2, 3), made.state_dict()
    first, second = made(x)
    assert torch.allclose(first, (x @ own["V.weight"].T).relu())
    assert torch.allclose(second, x @ own["W"])


def test_one_call_of_all_inputs_is_the_term_itself() -> None:
    whole = Linear("m -> k", "W") >> Elementwise("relu")

    @ncd.define
    def term(x: m):  # type: ignore  # noqa: F821
        return whole(x)

    assert term == whole


def test_terms_are_called_in_definitions_only() -> None:
    with pytest.raises(MismatchError) as error:
        Linear("m -> k", "W")(numbers(3))
    assert str(error.value) == (
        "Linear: a term is called on named arrays, inside of ncd.define. Try ncd.compile(term)(x)."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'def f(x: "t m"):\n    return Linear("m -> k", "W")(z)',
            "line 2, column 34: there is no array 'z'. Try one of x.",
        ),
        (
            'def f(x: "t m"):\n    return Linear("q -> k", "W")(x)',
            "line 2, column 12: Linear W (q -> k): it takes (q), but the array that meets it is "
            "(t m). Try an array that has q, such as (q).",
        ),
        (
            'def f(x: "t m"):\n    return Einsum("m, m -> m")(x)',
            "line 2, column 12: Einsum: it takes 2 arrays (m, m), but is given 1. "
            "Try arrays like (m, m).",
        ),
        ("def f(x):\n    return x", 'line 1, column 7: x has no axes. Try x: "t m".'),
        (
            'def f(x: "t m"):\n    a, b = Linear("m -> k")(x)\n    return a',
            "line 2, column 5: there are 2 names for 1 arrays. Try a.",
        ),
        (
            'def f(x: "t m"):\n    return Linaer("m -> k")(x)',
            "line 2, column 12: there is no op 'Linaer'. Try Linear.",
        ),
        (
            '@cache\ndef f(x: "t m"):\n    return x',
            "line 1, column 2: the only decorator is define. Try @define(t=seq(12), m=64).",
        ),
        (
            'def f(x: "t m"):\n    x = x',
            "line 2, column 5: a definition ends with what it returns. Try return x.",
        ),
        (
            '@define(m="2*t")\ndef f(x: "t m"):\n    return x',
            "line 2, column 1: Input (t m): axis t has no size. Try Axes(t=…), or a name among m.",
        ),
    ],
)
def test_a_wrong_definition_is_told_at_its_place(text: str, message: str) -> None:
    with pytest.raises(NCDError) as error:
        ncd.parse(text)
    assert str(error.value) == message
    assert isinstance(error.value, TextError)


@pytest.mark.parametrize(
    "text",
    [
        'def f(x: open("/etc/passwd")):\n    return x',
        'def f(x: "m"):\n    import os\n    return x',
        'def f(x: "m"):\n    return __import__("os")',
        'def f(x: "m"):\n    return [x for y in x]',
        'def f(x: "m", *more):\n    return x',
        'def f(x: "m" = 3):\n    return x',
        'def f(x: "m"):\n    while True: pass\n    return x',
        'def f(x: "m"):\n    x.y = x\n    return x',
        'def f(x: "m"):\n    return f(x)',
        'def f(x: "m"):\n    a = b = x\n    return a',
        'def f(x: "m"):\n    return Softmax("m")(x, x=x)',
        "def f(x: 3):\n    return x",
        'async def f(x: "m"):\n    return x',
        '@define(m=__import__("os"))\ndef f(x: "m"):\n    return x',
        'def f(x: "m"):\n    return x.__class__',
        'def f(x: "m"):\n    return Linear("m -> m", name=x)(x)',
        "".join(
            f'def f{i}(x: "m"):\n    return f{i - 1}(f{i - 1}(x))\n'
            if i
            else 'def f0(x: "m"):\n    return Linear("m -> m")(x)\n'
            for i in range(40)
        ),
    ],
    ids=range(17),
)
def test_hostile_definitions_are_errors(text: str) -> None:
    with pytest.raises(TextError):
        ncd.parse(text)


def test_a_spelling_is_readable() -> None:
    term = ncd.Axes(t=5, m=8, k=4)(
        Wire("t m -> t m, t m")
        >> ncd.Block(
            Linear("m -> k", "up") >> Elementwise("relu") >> Linear("k -> m", "down"), "MLP"
        )
        >> ncd.Add()
    )
    assert ncd.spell(term, "lines") == (
        'def mlp(x: "m"):\n'
        "    up = Linear('m -> k', 'up')(x)\n"
        "    relu = Elementwise('relu')(up)\n"
        "    down = Linear('k -> m', 'down')(relu)\n"
        "    return down\n"
        "\n"
        "@define(t=5, m=8, k=4)\n"
        'def system(x: "t m"):\n'
        "    out = Block(mlp, 'MLP')(x)\n"
        "    add = Add()(out, x)\n"
        "    return add"
    )


@pytest.mark.few(25)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_every_system_is_the_same_in_lines(name: str) -> None:
    term = ncd.catalogue[name].build()
    again = ncd.parse(ncd.spell(term, "lines"))
    assert (again.dom, again.cod) == (term.dom, term.cod)
    assert ncd.parse(ncd.spell(again, "lines")) == again  # its own wires stay as they are
    one, two = ncd.compile(term).eval(), ncd.compile(again).eval()
    two.load_state_dict(one.state_dict())  # names and shapes are the same
    with torch.no_grad():
        given = ncd.example_inputs(term, 0)
        for a, b in zip(_several(one(*given)), _several(two(*given)), strict=True):
            assert torch.allclose(a, b, atol=1e-6, equal_nan=True)


def _several(made: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return made if isinstance(made, tuple) else (made,)


def test_another_notation_is_refused() -> None:
    with pytest.raises(NCDError, match="there is no notation 'prose'"):
        ncd.spell(Linear("m -> k"), "prose")


def test_the_result_is_a_term() -> None:
    assert isinstance(delta, Term)
