"""Index and Top: numbers by their place, and the places of the largest."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ncd.circuit.elaborate import Axes
from ncd.errors import MismatchError, NCDError
from ncd.language.axes import Type
from ncd.language.terms import Id, rewrite_axes
from ncd.ops.elementwise import Map
from ncd.ops.indexing import Index
from ncd.ops.reductions import Top
from ncd.run.guard import compile
from tests.ops.values import values

TABLE = torch.arange(40.0, dtype=torch.float64).view(2, 5, 4)
IDS = torch.tensor([[0, 4, 4], [2, 1, 0]])


@pytest.mark.parametrize("table", [TABLE[0], TABLE], ids=["one table", "a table each"])
def test_a_batch_of_indices(table: torch.Tensor) -> None:
    (found,) = values(Index("y#v, v m -> y m"), "y:3#v:5, v:5 m:4", IDS, table)
    each = table if table.dim() == 3 else [table, table]
    assert torch.equal(found, torch.stack([t[i] for t, i in zip(each, IDS, strict=True)]))


def test_shared_axes_go_together_named_or_not() -> None:
    picks, rows = IDS, TABLE[:, :3]
    wanted = torch.stack([torch.stack([r[y, p] for y, p in enumerate(i)])
                          for r, i in zip(rows, IDS % 4, strict=True)])  # fmt: skip
    for dom in ("y:3#v:4, y:3 v:4", "b:2 y:3#v:4, b:2 y:3 v:4"):
        (found,) = values(Index("y#v, y v -> y"), dom, picks % 4, rows)
        assert torch.equal(found, wanted)


def test_places_below_their_own_axis_permute() -> None:
    order = torch.tensor([2, 0, 1])
    (found,) = values(Index("v#v, v m -> v m"), "v:3#v:3, v:3 m:4", order, TABLE[0, :3])
    assert torch.equal(found, TABLE[0, :3][order])


def test_the_gradient_adds_up_where_a_row_is_taken_twice() -> None:
    table = TABLE[0].clone().requires_grad_()
    (found,) = values(Index("y#v, v m -> y m"), "y:3#v:5, v:5 m:4", IDS[0], table)
    found.sum().backward()
    assert table.grad is not None
    assert table.grad[:, 0].tolist() == [1, 0, 0, 0, 2]


def test_one_place_of_some_axes() -> None:
    (found,) = values(Index("y m", y=-1), "b:2 y:5 h:1 m:4", TABLE[:, :, None])
    assert torch.equal(found, TABLE[:, None, -1])
    (found,) = values(Index("b y m", m=1, b=0), "b:2 y:5 m:4", TABLE)
    assert torch.equal(found, TABLE[0, :, 1])
    (whole,) = Index("y#v", y=0).infer_outputs(Type.parse("y:3#v:5"))
    assert whole.spec == "()#v:5"


@pytest.mark.parametrize(
    ("op", "text"),
    [
        (Index("y m", y=2), "Index('y m', y=2)"),
        (Index("x/s at m", {"x/s": 0, "at": 1}), "Index('x/s at m', {'x/s': 0, 'at': 1})"),
        (Index("lambda m", at={"lambda": 0}), "Index('lambda m', {'lambda': 0})"),
        (Index("y:3 m -> m:4", y=2), "Index('y:3 m -> m:4', y=2)"),
        (Index("y#v, v m -> y m"), "Index('y#v, v m -> y m')"),
    ],
    ids=str,
)
def test_repr_and_plain_fields(op: Index, text: str) -> None:
    assert repr(op) == text
    assert eval(text, {"Index": Index}) == op
    assert Index(pattern=op.pattern.spec, at=dict(op.at)) == op
    assert rewrite_axes(op, lambda axis: axis) == op


def test_sizes_reach_a_place_and_its_repr() -> None:
    assert repr(Axes(y=3, m=4)(Index("y m", y=2) >> Id("m"))) == (
        "Index('y:3 m:4', y=2) >> Id('m:4')"
    )


def test_top_gives_numbers_and_places() -> None:
    gates = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4]])
    best, places = values(Top("e -> k:2"), "b:2 e:3", gates)
    assert torch.equal(best, torch.tensor([[0.7, 0.2], [0.5, 0.4]]))
    assert places.tolist() == [[1, 2], [0, 2]]
    (again,) = values(Index("k#e, e -> k"), "b:2 k:2#e:3, b:2 e:3", places, gates)
    assert torch.equal(again, best)
    along, _ = values(Top("e -> k:1"), "e:2 b:3", gates)
    assert torch.equal(along, gates.max(0, keepdim=True).values)


REFUSED = [
    (
        lambda: Index("y m", y=3).infer_outputs(Type.parse("y:3 m:4")),
        "Index (y m -> m): axis y has size 3, so there is no place 3. "
        "Bound so far: y 3, m 4. Try y=2.",
    ),
    (
        lambda: Index("y m", x=3),
        "Index (y m -> y m): the array (y m) has no axis x. Try one of (y m).",
    ),
    (
        lambda: Index("y m", y=True),
        "Index: the place of y is True, but it is a whole number. Try y=2.",
    ),
    (
        lambda: Index("y m", at=2),
        'Index: at is 2, but it names places. Try at={"y": 2}.',
    ),
    (
        lambda: Index("y m -> y", y=2),
        'Index (y m -> y): the right side is not what is left of (y m). Try "y m -> m".',
    ),
    (
        lambda: Index("y m, x", y=2),
        "Index: 'm,' is not an axis. Try a name such as m, m:128, ~y:20 or x:16x16.",
    ),
    (
        lambda: Index("y m -> m"),
        "Index (y m -> m): a lookup takes places and a table and gives one array. "
        'Try "y#v, v m -> y m", or a place such as Index("y m", y=2).',
    ),
    (
        lambda: Index("y#w, v m -> y m"),
        "Index (y#w, v m -> y m): the places are below w, which is no axis of the table (v m). "
        'Try the bound of the places in it: "y#v, v m -> y m".',
    ),
    (
        lambda: Index("y, v m -> y m"),
        "Index (y, v m -> y m): (y) holds real numbers, which are no places. "
        'Try the bound of the places in it: "y#v, v m -> y m".',
    ),
    (
        lambda: Index("y#v, v m -> m"),
        "Index (y#v, v m -> m): it gives (y m), but the pattern says (m). "
        'Try "y#v, v m -> y m".',
    ),
    (
        lambda: Index("y#v, v#w -> y"),
        "Index (y#v, v#w -> y): it gives (y#w), but the pattern says (y). "
        'Try "y#v, v#w -> y#w".',
    ),
    (
        lambda: Index("x m", x=0).infer_outputs(Type.parse("x:2x2 m:3")),
        "Index (x m -> m): axis x is a group of 2 dimensions, which has no single position. "
        'Bound so far: x 2×2, m 3. Try Group("x -> …") before it.',
    ),
    (
        lambda: Index("y#v, v -> y").infer_outputs(Type.parse("y:2, v:5")),
        "Index (y#v, v -> y): it takes whole numbers below v, but the array that meets it, (y), "
        "holds real numbers. Bound so far: y 2, v 5. "
        "Try an array of whole numbers below v, such as (y#v).",
    ),
    (
        lambda: Top("e -> k:4").infer_outputs(Type.parse("e:3")),
        "Top (e -> k, k#e): axis k has size 4, but there are only 3 along e. "
        "Bound so far: e 3, k 4. Try k = 3.",
    ),
    (lambda: Top("e f -> k"), 'Top: "e f -> k" is not of the form "e -> k". '
     'Try something like Top("e -> k").'),
]  # fmt: skip


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=[m[:60] for _, m in REFUSED])
def test_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(NCDError) as found:
        build()
    assert str(found.value) == message


def test_an_index_out_of_range_is_told() -> None:
    """One that comes in is looked at before the run; one that a Map makes, when it is used."""
    term = Axes(y=4, e=3, m=2)(Map("y -> y#e", "floor($1)") >> Index("y#e, e m -> y m"))
    with pytest.raises(MismatchError) as caught:
        compile(term)(torch.full((4,), 7.0), torch.zeros(3, 2))
    assert str(caught.value) == (
        "Index: an index is none of the places, which are 0 to 2. "
        "Try min(2, ...) in the Map that makes it."
    )
