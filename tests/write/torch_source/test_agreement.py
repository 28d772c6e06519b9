"""The source of a term computes what the module computes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings

import ncd
from ncd import (
    Add,
    Beside,
    Block,
    Copy,
    Cut,
    Einsum,
    Elementwise,
    Equation,
    Id,
    Index,
    Linear,
    Map,
    Param,
    Rename,
    Repeat,
    Scan,
    Softmax,
    Top,
    Wire,
)
from ncd.ops import CATALOGUE
from tests.support.sampling import count, sample
from tests.support.strategies import terms
from tests.support.written_source import written
from tests.write.torch_source.agreement import agree, takes_any_batch

OPS = pytest.mark.parametrize("op", CATALOGUE, ids=lambda op: op.__name__)


def terms_of(op: type[ncd.Op]) -> list[ncd.Term]:
    """Returns the op as each of its samples has it."""
    samples = op.examples()
    return [Id(each.dom) >> each.op if each.dom.strip() else each.op for each in samples]


@OPS
def test_every_op(op: type[ncd.Op]) -> None:
    for term in terms_of(op):
        agree(term)


@OPS
def test_every_op_with_batch_axes_in_front(op: type[ncd.Op]) -> None:
    for term in terms_of(op):
        if term.dom and takes_any_batch(term):
            agree(term, (2,))
            agree(term, (2, 3))


@OPS
def test_new_tensors_are_where_the_inputs_are(op: type[ncd.Op]) -> None:
    for term in filter(lambda term: term.dom, terms_of(op)):
        made = written(term).to("meta")
        outputs = made(*(x.to("meta") for x in ncd.example_inputs(term)))
        found = outputs if isinstance(outputs, tuple) else (outputs,)
        assert {x.device.type for x in found} <= {"meta"}


def settings_of(entry: ncd.Entry) -> list[dict[str, int]]:
    """The defaults, and each knob at its ends (bounded, for these run)."""
    found: list[dict[str, int]] = [{}]
    for knob in entry.knobs:
        low = knob.nearest(knob.min)
        found += [{knob.name: low}, {knob.name: knob.nearest(min(knob.max, knob.min + 7))}]
    return found


@pytest.mark.few(34)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_catalogue(entry: ncd.Entry) -> None:
    for knobs in sample(settings_of(entry), 2, entry.name):
        try:
            term = entry.build(**knobs)
        except ncd.NCDError:  # the system cannot have this setting
            continue
        agree(term)


@settings(max_examples=count(25, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_random_terms(term: ncd.Term) -> None:
    agree(term)


@settings(max_examples=count(20, 40), deadline=None, suppress_health_check=list(HealthCheck))
@given(terms())
def test_random_terms_with_batch_axes_in_front(term: ncd.Term) -> None:
    if term.dom and takes_any_batch(term):
        agree(term, (2, 3))


# --- structure -----------------------------------------------------------------------------------

Q = Linear("m:3 -> m:3", "Q")
SUM = Id("m, m") >> Add()
STEP = Id("n, n") >> Linear("n -> n", "W") @ Id("n") >> Add() >> Elementwise("tanh") >> Copy("n")
PAIR = Id("a:2, b:3") >> Linear("a -> a", "f") @ Linear("b -> b", "g")

STRUCTURES = {
    "a block that has a name": Block(Q >> Softmax("m"), "Part", name="part") >> Q,
    "a block within a block": Block(Block(Q, name="inner") >> Q, "Outer", name="outer"),
    "blocks of one class": Block(Q, name="a") >> Block(Q, name="b"),
    "a block that takes the same array twice": Copy("m:3") >> Block(SUM, name="p"),
    "local names": Id("y:2 d:3") >> Block(Q, name="part", local=True) >> Linear("d -> e:2"),
    "local names without a class": Id("y:2 d:3") >> Block(Q >> Softmax("m"), local=True),
    "two sizes of one name inside": Id("e:1") >> Block(
        Linear("q -> d:5") >> Cut("d -> p:2, q:3"), name="part", local=True
    ),
    "repeated": Repeat((Q, Q, Q)),
    "repeated once": Repeat((Q,)),
    "shared": Repeat((Q >> Elementwise("tanh"),) * 3, shared=True),
    "shared, of two kinds": Repeat((Q, Q >> Elementwise("tanh")), shared=True),
    "repeated in a repetition": Repeat((Repeat((Q, Q), "inner"),) * 2, "outer"),
    "several arrays": Repeat((PAIR, PAIR)),
    "one array twice": Copy("m:3") >> Repeat((Id("m, m") >> Q @ Q,) * 2),
    "needed before and after": Copy("m:3") >> Repeat((Q, Q)) @ Id("m") >> Add(),
    "saving": Repeat((Q >> Copy("m"),) * 3) >> Id("m, m, m, m") >> SUM >> SUM >> SUM,
    "taking up": Repeat((Id("m:3, m") >> SUM >> Q,) * 3),
    "a memory": Repeat((Id("m:3, k:2") >> Einsum("m, k -> m"),) * 3, memory=1),
    "a memory that is the state": Copy("m:3") >> Repeat((Id("m, m") >> Add(),) * 3, memory=1),
    "bodies that do nothing": Repeat((Id("m:3"),) * 3),
    "a scan": Id("n:2, t:3 n") >> Scan(STEP, "t", "cell"),
    "a scan without a name": Id("n:2, t:3 n") >> Scan(STEP, "t"),
    "a scan in a scan": Id("n:2, t:3 s:2 n") >> Scan(Scan(STEP, "s"), "t"),
    "a scan of several arrays": Id("t:3 n:2, t a:2") >> Scan(Id("n:2, a:2"), "t", states=0),
    "a scan in a repetition": Repeat((Id("n:2, t:3 n") >> Scan(STEP, "t"),) * 2),
    "a scan whose state is learned": Param("n:2", "h") >> Scan(STEP, "t:3", "cell"),
    "a scan in the middle of an array": Id("n:2 k:2, n t:3 k") >> Scan(Id("k, k"), "t"),
    "a scan along two dimensions": Id("n:2, x:2x3 n") >> Scan(STEP, "x"),
    "a scan of a picture and a row": Id("x:2x3 n:2, x a:2") >> Scan(
        Id("n, a"), "x", states=0
    ),
    "a table for each example": Id("y:2#v:5, v m:3") >> Index("y#v, v m -> y m"),
    "places in a table of their own": Id("b:2 y:3#v:5, b v m:4") >> Index("y#v, v m -> y m"),
    "an equation": Equation(Q >> Q, Q >> Elementwise("relu") >> Q),
    "an equation of repetitions": Equation(Repeat((Q, Q)), Repeat((Q, Q, Q))),
    "an equation of two blocks of one name": Equation(
        Block(Q, name="f"), Block(Q >> Softmax("m"), name="f")
    ),
    "a list and a module of one name": Equation(
        Repeat((Q, Q), "f"), Repeat((Q, Q), "f", shared=True)
    ),
    "nothing goes in": Param("m:3", "w") >> Softmax("m"),
    "nothing goes in or is learned": Map("-> y:3 x:2", "y > x"),
    "nothing comes out": Wire("m:3 ->"),
    "nothing at all is used": Id("m:3, k:2") >> Wire("m, k -> k") >> Softmax("k"),
    "what is computed is dropped": Copy("m:3") >> Q @ Id("m") >> Wire("m, m -> m"),
    "several outputs": Top("e:5 -> k:2") >> Softmax("k"),
    "a tied weight": Id("y:2#v:5") @ (Param("v m:3", "w") >> Copy("v m"))
    >> Index("y#v, v m -> y m") >> Einsum("y m, v m -> y v"),
    "a class token": Param("1 m:3", "cls") @ Id("y:4 m") >> ncd.Concat("1, y -> z"),
    "an input that comes out": Id("m:3, k:2") >> Wire("m, k -> k, m, m"),
    "other names only": Id("y:2 m:3") >> Rename("y -> x") >> Linear("m -> k:2"),
}  # fmt: skip


@pytest.mark.parametrize("term", STRUCTURES.values(), ids=STRUCTURES)
def test_structure(term: ncd.Term) -> None:
    agree(term)


@pytest.mark.parametrize(
    "name",
    ["a scan", "a memory", "a class token", "a tied weight", "a scan whose state is learned"],
)
def test_structure_with_batch_axes_in_front(name: str) -> None:
    agree(STRUCTURES[name], (2, 3))


def test_a_deep_nest_of_named_blocks() -> None:
    term: ncd.Term = Q
    for _ in range(90):
        term = Block(term >> Elementwise("tanh"), name="b")
    agree(term)


def test_dropout_follows_the_mode() -> None:
    made = written(Id("m:1000") >> ncd.Dropout(0.5))
    x = torch.ones(1000)
    assert 300 < int((made(x) == 0).sum()) < 700
    assert torch.equal(made.eval()(x), x)


def test_many_things_side_by_side() -> None:
    agree(Beside(*(Linear(f"m:3 -> k:{2 + i % 3}") for i in range(60))))
