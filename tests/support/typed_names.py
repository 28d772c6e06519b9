"""A client's program with every public name that ``typed_client.py`` lacks, for type checkers."""

from typing import assert_type

import torch
from torch import nn

import ncd
from ncd import Axes, Id, Linear, Softmax, Term, seq


def every_other_op() -> list[Term]:
    return [
        ncd.CausalMask("y x") >> ncd.Inner("y x"),
        ncd.Concat("c, d -> e") @ ncd.Cut("d -> p:2, q") @ ncd.Split("d -> h:2 k"),
        ncd.Cumulative("x", "sum") >> ncd.Roll("x", 2) >> ncd.Pad("x -> y", 1, 2),
        ncd.Dropout(0.1) >> ncd.Elementwise("gelu") >> ncd.RMSNorm("m", eps=1e-6),
        ncd.Window("x -> y w", 3) >> ncd.Fold("y w -> x", 3),
        ncd.Function("f", "a -> b:2") @ ncd.Given("y:2 x:2", "mask", "0 -inf 0 0.5"),
        ncd.Group("h k -> d") @ ncd.Named("y k", "Q") @ ncd.Unit("a:3 b"),
        ncd.Opaque("y m -> y m", "aten.roll", "a, [1], [0]"),
        ncd.Scatter("y#v, y m -> v m") @ ncd.Swap("a", "c"),
        ncd.abreast(Linear("m -> k", "A"), Linear("d -> h", "B")),
        ncd.Then(Softmax("m"), Softmax("m")) @ ncd.Beside(Id("a"), Id("b")),
    ]


def circuits(term: Term) -> None:
    circuit = assert_type(ncd.elaborate(term), ncd.Circuit)
    cell = assert_type(circuit.cells[0], ncd.Cell)
    op, site = assert_type(cell.op, ncd.Op), assert_type(cell.site, ncd.Site)
    value = assert_type(circuit.inputs[0], ncd.Value)
    array = assert_type(value.array, ncd.Array)
    axis = assert_type(array[0], ncd.Axis)
    loops: tuple[ncd.Loop, ...] = circuit.loops
    fences: tuple[ncd.Fence, ...] = circuit.fences
    samples: tuple[ncd.Sample, ...] = ncd.RMSNorm.examples()
    print(op.display_name, site.own_inputs, axis.size, loops, fences, samples[0].torch)


def numbers(term: Term) -> None:
    cost = assert_type(ncd.cost(term), ncd.Cost)
    kept = assert_type(ncd.saved(term), ncd.Saved)
    arrays: tuple[ncd.SavedArray, ...] = kept.arrays
    again = assert_type(ncd.checkpoints(term, 1e6), ncd.Checkpoints)
    sides = ncd.prove(ncd.Equation(term, term), limits=ncd.Limits(bytes=10**9))
    print(cost.flops, arrays[0].bytes, again.recompute, sides, ncd.devices())
    plan = assert_type(ncd.stream(ncd.Einsum("a:4 b:4, b:4 -> a"), {"a": 2}, ("b", 2)), ncd.Stream)
    done = assert_type(ncd.run_stream(plan, [torch.ones(4, 4), torch.ones(4)]), ncd.Result)
    print(done.outputs, done.bytes_read)
    parts = assert_type(ncd.shard(term, ["m"], 1), ncd.Sharding)
    joined = assert_type(
        ncd.run_sharded(parts, ncd.example_inputs(term), ncd.compile(term)), ncd.ShardedResult
    )
    print(joined.outputs, parts.numbers_sent == joined.numbers_sent)


def runs(term: Term) -> None:
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    trace = assert_type(ncd.trace(module, *inputs), ncd.Trace)
    graph = assert_type(ncd.autograd(module, *inputs), ncd.Dag)
    small: dict[str, ncd.Thumbnail] = ncd.thumbnails(module, trace)
    picture = assert_type(ncd.draw(term), ncd.Drawing)
    explorer = assert_type(ncd.explore(term), ncd.Explorer)
    print(graph, small, picture.svg(), explorer)


def rewritten(term: Term) -> None:
    found: tuple[ncd.Rewrite, ...] = ncd.rewrites(term)
    changed = assert_type(ncd.apply(term, found[0]), Term) if found else term
    cached = assert_type(ncd.decode(Axes(t=seq(4), m=3)(Id("t m") >> Softmax("m"))), ncd.CachedPass)
    caches: tuple[ncd.Cache, ...] = cached.caches
    places: tuple[ncd.CachePlacement, ...] = cached.placements
    print(changed, caches, places)


@ncd.define  # pyright: ignore[reportUnknownArgumentType]
def softened(x: "t:4 m:3") -> object:  # type: ignore  # noqa: F722
    return Softmax("m")(x)


def sources() -> None:
    answer = assert_type(ncd.ask("nn.Linear(8, 4)(torch.randn(2, 9))"), ncd.Answer)
    findings: tuple[ncd.Finding, ...] = answer.findings
    cures: tuple[ncd.Cure, ...] = findings[0].cures
    imported = assert_type(ncd.from_torch(nn.Linear(8, 4), torch.ones(2, 8)), ncd.Imported)
    boxes: tuple[ncd.Box, ...] = imported.boxes
    print(cures, boxes, ncd.module_findings(imported))


def failures() -> None:
    kinds: list[type[ncd.NCDError]] = [ncd.MismatchError, ncd.SizeError, ncd.ParseError]
    kinds += [ncd.LimitError, ncd.LookAheadError, ncd.ImportFailed, ncd.UnknownNameError]
    for kind in kinds:
        print(kind.__name__)


def main() -> None:
    term = Axes(y=4, m=3, k=2)(Id("y m") >> Linear("m -> k", "Q"))
    for act in (circuits, numbers, runs, rewritten):
        act(term)
    print(every_other_op())
    sources()
    failures()
