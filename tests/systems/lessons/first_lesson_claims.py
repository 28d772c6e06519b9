"""Claims of the lessons on tensors, learning, linear algebra, norms and recurrent networks."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import prod

import torch
from einops import rearrange
from torch import Tensor
from torch.func import functional_call, grad, vmap

import ncd
from ncd.app.panels.tensors.patch_raster import read
from ncd.language.terms import Term
from ncd.run.seeding import example_inputs
from ncd.systems.networks.perceptrons import scores
from ncd.systems.tensors.array_indexing import arrays
from ncd.systems.tensors.memory_layout import patches
from ncd.systems.training.module_or_functional import houses
from ncd.systems.training.plane_training import PlaneTraining
from tests.systems.lessons.facts import Claim, Facts, answer, growth_factor


def outputs(f: Facts, *inputs: Tensor) -> tuple[Tensor, ...]:
    """What leaves a system at the weights of seed 0, and at its example inputs by default."""
    term = f.circuit.term
    found = ncd.compile(term)(*(inputs or example_inputs(term)))
    return found if isinstance(found, tuple) else (found,)


def alike(f: Facts) -> bool:
    """Whether all sides of an equation give the same numbers."""
    first, *others = outputs(f)
    return all(torch.allclose(first, other, atol=1e-5) for other in others)


def is_view(f: Facts) -> bool:
    """Whether what leaves a system lies in the memory of its input."""
    (array,) = example_inputs(f.circuit.term)
    (row,) = outputs(f, array)
    return row.untyped_storage().data_ptr() == array.untyped_storage().data_ptr()


def rows_with_gradient(f: Facts) -> list[int]:
    (array,) = example_inputs(f.circuit.term)
    array.requires_grad_()
    outputs(f, array)[0].sum().backward()
    assert array.grad is not None
    return array.grad.abs().sum(1).nonzero().flatten().tolist()


def every_pair_is_alike(f: Facts) -> bool:
    pairs = product(range(f.size("a")), range(f.size("b")))
    return all(alike(f.at(i=i, j=j)) for i, j in pairs)


def moved_count(f: Facts) -> int:
    """How many numbers of the table stand elsewhere than in memory."""
    numbers = torch.arange(16.0).view(2, 2, 2, 2)
    return int((outputs(f, numbers)[0].flatten() != numbers.flatten()).sum())


def columns_first(f: Facts) -> bool:
    """Whether (w b) takes a column of every picture before the next column of any."""
    (pictures,) = example_inputs(f.circuit.term)
    right = rearrange(pictures, "b h w c -> h (b w) c")
    wrong = rearrange(pictures, "b h w c -> h (w b) c")
    first = rearrange(pictures[:, :, :2], "b h w c -> w h b c")
    return right.shape == wrong.shape and torch.equal(wrong[:, :12], torch.cat((*first,), 1))


def pooled(f: Facts) -> bool:
    (pictures,) = example_inputs(f.circuit.term)
    largest = torch.nn.functional.max_pool2d(rearrange(pictures, "b h w c -> b c h w"), 2)
    return torch.equal(outputs(f, pictures)[0], rearrange(largest, "b c h w -> b h w c"))


def graph_size(f: Facts) -> int:
    """How many nodes torch notes where the inputs of the view are frozen."""
    module, names = ncd.compile(f.circuit.term), f.query["frozen"].split(",")
    inputs = example_inputs(f.circuit.term)
    return len(ncd.autograd(module, *inputs, frozen=frozenset(names)).nodes)


def all_nodes(f: Facts) -> int:
    return len(ncd.autograd(ncd.compile(f.circuit.term), *example_inputs(f.circuit.term)).nodes)


def is_affine(term: Term) -> bool:
    """Whether the middle of two points goes to the middle of what they go to."""
    (a,), (b,) = example_inputs(term, 1), example_inputs(term, 2)
    module = ncd.compile(term)
    return torch.allclose(module((a + b) / 2), (module(a) + module(b)) / 2, atol=1e-5)


def best(f: Facts, points: str) -> float:
    """The share of points on the right side after training."""
    knobs = {name: f.settings[name] for name in ("p1", "g", "n")}
    *_, last = PlaneTraining("mlp-geometry", knobs, seed=0, steps=600, points=points)
    return last.score or 0.0


def gradients_cancel(f: Facts) -> bool:
    """Whether the mean of all gradients is shorter than they are, and each is its own."""
    model = ncd.compile(f.at(b=1).circuit.term)
    weights = {name: w.detach() for name, w in model.named_parameters()}
    data = houses(f.settings["i"], 0)
    x, y = data.inputs[: f.settings["b"], None], data.targets[: f.settings["b"], None]

    def loss(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return torch.nn.functional.mse_loss(functional_call(model, weights, (x,)), y)

    found = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
    each = torch.cat([g.flatten(1) for g in found.values()], 1)
    return bool(each.mean(0).norm() < 0.8 * each.norm(dim=1).mean())


def codes_agree(f: Facts) -> bool:
    module, function = (ncd.compile(f.at(function=n).circuit.term) for n in (0, 1))
    (x,) = example_inputs(module.term)
    return torch.allclose(module(x), function(x, *module.parameters()), atol=1e-6)


def moments(f: Facts) -> bool:
    """Whether each position has mean 0 and variance 1."""
    found = f.value("norm")
    return torch.allclose(found.mean(1), torch.zeros(len(found)), atol=1e-5) and torch.allclose(
        found.var(1, unbiased=False), torch.ones(len(found)), atol=0.01
    )


LESSONS: Mapping[str, Mapping[str, Claim]] = {
    "tensors": {
        "Each axis is drawn as a wire, so two wires side by side are a table.": lambda f: (
            f.ins("f")[0] == "b c"
        ),
        "Drawn with one wire for each array, the same diagram hides which axes f takes.": (
            lambda f: all(len(value) == 1 for value in arrays(**f.settings).dom)
        ),
        "Now it is twice as long.": lambda f: growth_factor(f, "a") == 2,
        "Hardly more: its wire meets only g, and f does most of the work.": lambda f: (
            1 < f.grows("flops") < 1.05
            and ("a" in f.ins("g"), "a" in f.ins("f")) == (True, False)
            and f.lit == ["Function g"]
            and f.share("flops", "f") > 0.75
        ),
        "Now p is twice as long instead.": lambda f: growth_factor(f, "p") == 2,
        "Almost twice: p leaves f and enters g, so both have more to do.": lambda f: (
            1.9 < f.grows("flops") < 2 and f.grows("flops", "f") > 1 and f.grows("flops", "g") > 1
        ),
    },
    "indexes": {
        "The table gets twice as many rows.": lambda f: growth_factor(f, "a") == 2,
        "Just as many: a row is as long as before.": lambda f: (
            f.size("a") == 2 * f.at().size("a") and f.size("b") == f.at().size("b")
        ),
        "And none is copied: in torch the row is a view into the table, so an index costs "
        "nothing.": lambda f: is_view(f) and f.count("flops") == f.count("parameters") == 0,
        "Backward, row i alone gets a gradient, and all others get 0.": lambda f: (
            rows_with_gradient(f) == [f.settings["i"]]
        ),
    },
    "subtensors": {
        "A number in a table needs two indexes, its row and its column.": lambda f: (
            (f.ins("Index")[0], f.outs("Index")[0]) == ("a b", "")
        ),
        "Three ways stand side by side.": lambda f: len(f.circuit.term.cod) == 3,
        "A row of 7 numbers: the wire a has ended, and b goes on until j ends it too.": lambda f: (
            f.lit == ["Index"] and f.size("b") == 7
        ),
        "5, where the other way left 7.": lambda f: (f.size("a"), f.size("b")) == (5, 7),
        "And yet all 35 pairs of indexes give the same number by all three ways.": lambda f: (
            f.size("a") * f.size("b") == 35 and every_pair_is_alike(f)
        ),
    },
    "elementwise": {
        "At which places of the row does the result change?": answer("the same place only"),
        "On the left f works out 12 numbers, and then one row is kept.": lambda f: (
            f.value("f").numel() == 12 and f.outs("Index") == ["a"]
        ),
        "3, and both sides give the same.": lambda f: f.value("f", 1).numel() == 3 and alike(f),
    },
    "inner-broadcasting": {
        "A batch meets one weight, each query meets the same keys: only one of two arrays has "
        "rows.": lambda f: f.ins("H") == ["c a", "d"],
        "Each of 4 rows has 3 numbers, the other array has 4.": lambda f: (
            (f.size("c"), f.size("a"), f.size("d")) == (4, 3, 4)
        ),
        "From a row and that array H makes 2 numbers.": lambda f: f.size("b") == 2,
        "8: a pair of numbers for each row.": lambda f: f.value("H").shape == (4, 2),
        "The wire c passes over H inside the first array, and the other array is the same for all "
        "rows.": lambda f: f.outs("H") == ["c b"] and all(alike(f.at(i=i)) for i in range(4)),
        "Both sides give the same row.": alike,
    },
    "memory-order": {
        "Then all four axes are reversed before it is read.": lambda f: (
            f.settings["order"] == 0
            and (f.then.ins("Einsum"), f.then.outs("Einsum")) == (["b c h w"], ["w h c b"])
        ),
        "How many of its numbers change?": answer("some"),
        "12 of 16, and the shape is the same: it cannot tell you that an order is wrong.": (
            lambda f: (
                outputs(f)[0].shape == outputs(f.at(order=0))[0].shape
                and outputs(f)[0].numel() == 16
                and (moved_count(f), moved_count(f.at(order=0))) == (12, 0)
            )
        ),
        "No error, and not one patch is a square: a vision transformer would read shreds.": (
            lambda f: read(patches(f.query["cut"]), 4).squares == 0
        ),
    },
    "einops": {
        "The shape is the same and there is no error, but now the first columns of all pictures "
        "come before all second ones.": columns_first,
        "Another line splits h and w into pairs, and a maximum ends both halves.": lambda f: (
            (f.ins("max"), f.outs("max")) == (["b h h1 w w1 c"], ["b h w c"])
            and f.size("h1") == f.size("w1") == 2
        ),
        "How many of 165,888 numbers are left?": lambda f: (
            prod(example_inputs(f.circuit.term)[0].shape) == 165_888
        ),
        "A quarter: this is max-pooling, in one line.": lambda f: (
            pooled(f) and 4 * f.value("max").numel() == 165_888
        ),
    },
    "autograd": {
        "Forward, z is x times w.": lambda f: (
            (f.ins("z"), f.outs("z")) == (["b m", "m k"], ["b k"])
        ),
        "So give it twice as many examples.": lambda f: growth_factor(f, "b") == 2,
        "How much larger does the gradient of w become?": lambda f: f.answer == "just as many",
        "No larger: w has 6 numbers, so its gradient has 6.": lambda f: (
            f.count("parameters") == f.at().count("parameters") == 6
        ),
        "Switch it off for x and y, and torch notes less: the graph shrinks.": lambda f: (
            graph_size(f) < all_nodes(f)
        ),
    },
    "mlp-geometry": {
        "p₁ numbers, here two: the plane is turned, stretched and shifted, and tanh bends it.": (
            lambda f: f.size("p_1") == 2 and len(f.ops("tanh")) == 1
        ),
        "Give the network four times as many hidden units: how many more parameters is that?": (
            lambda f: growth_factor(f, "p1") == 4
        ),
        "3.67 times.": lambda f: round(float(f.at(p1=8).grows("parameters")), 2) == 3.67,
        "But without an activation even 12 units are in vain: two maps in a row are one map, "
        "straight lines stay straight, and XOR stays mixed.": lambda f: (
            (f.settings["p1"], f.settings["g"]) == (12, 0)
            and is_affine(scores(**f.settings))
            and best(f, "XOR") < 0.9 < best(f.at(p1=12), "XOR")
        ),
        "A disc in a ring: two units never part them, but three lift the disc out of the plane.": (
            lambda f: (
                f.settings["p1"] == 3
                and best(f, f.query["points"]) == 1 > best(f.at(), f.query["points"])
            )
        ),
    },
    "module-or-function": {
        "Its weights w1 come in on wires, as x does, and an einsum multiplies the two.": lambda f: (
            f.ins("Einsum") == ["b i", "h i"] and f.outs("w1") == ["h i"]
        ),
        "b and h, as from layer1 in the module.": lambda f: (
            f.outs("Einsum")[0] == "b h" == f.at(function=0).outs("layer1")[0]
        ),
        "It computes the same, yet it has no parameters at all: the caller keeps them.": (
            lambda f: f.count("parameters") == 0 and codes_agree(f)
        ),
        "Twice as many examples: how many numbers does it give then?": lambda f: (
            growth_factor(f, "b") == 2
        ),
        "Just as many: it is the mean of all examples, and much of them cancels.": lambda f: (
            f.at(b=16).grows("parameters") == 1 and gradients_cancel(f)
        ),
        "From the same weights both codes get the same results.": codes_agree,
    },
    "linear-algebra": {
        "Both sides give the same numbers.": alike,
        "Which of the two maps has more work to do?": answer("Function F"),
        "It does four times the work of Fᵀ, for the same result.": lambda f: (
            f.lit == ["Function F"] and f.count("flops", "F") == 4 * f.count("flops", "Fᵀ")
        ),
    },
    "layer-norm": {
        "Layer norm gives each position mean 0 and variance 1.": moments,
        "At which positions does the result change?": answer("the same place only"),
        "The text becomes twice as long.": lambda f: growth_factor(f, "t") == 2,
        "Just as many, as they belong to features.": lambda f: f.at(t=8).grows("parameters") == 1,
        "And with only two features, what comes out?": lambda f: f.size("m") == 2,
        "1 and −1, whatever went in: their sizes are lost.": lambda f: torch.allclose(
            f.value("norm").sort(1).values, torch.tensor([-1.0, 1.0]), atol=0.01
        ),
    },
    "gru": {
        "Two gates say for every feature how much of it stays.": lambda f: (
            len(f.ops("update")) == len(f.ops("reset")) == 1
        ),
        "At which positions does the result change?": answer("the same place and all later ones"),
        "The state becomes twice as wide.": lambda f: growth_factor(f, "h") == 2,
        "2.6 times: the map of the state has twice the features on both sides, the map of the word "
        "on one.": lambda f: (
            round(float(f.grows("parameters")), 1) == 2.6
            and 3.5 < f.grows("parameters", "hh") < 4
            and f.grows("parameters", "ih") == 2
        ),
        "An LSTM of this size has a third more.": lambda f: (
            Fraction(
                Facts.of("lstm").at(h=16, m=f.settings["m"]).count("parameters"),
                f.count("parameters"),
            )
            == Fraction(4, 3)
        ),
        "Where the update gate is near 1, the old state is copied, and nothing of it is lost.": (
            lambda f: "'(1 - $1) * $2 + $1 * $3'" in repr(f.ops("hidden")[0].op)
        ),
    },
    "mamba": {
        "We change a word in the middle: at which positions does the result change?": answer(
            "the same place and all later ones"
        ),
        "A layer keeps 256 numbers, after a word or after a book; attention keeps something of "
        "every word.": lambda f: (
            f.size("d") * f.size("s") == f.at(t=1).size("d") * f.at(t=1).size("s") == 256
        ),
        "A text twice as long.": lambda f: growth_factor(f, "t") == 2,
        "Twice as much: a word costs the same wherever it stands.": lambda f: f.grows("flops") == 2,
        "With attention the scores alone would be four times as many.": lambda f: (
            Facts.of("decoder-only-block").at(t=24).grows("flops", "scores") == 4
        ),
        "The step is made from the word: a large one writes and forgets, one near 0 keeps all.": (
            lambda f: (
                "'exp(-$2 * exp($3)) * $1'" in repr(f.ops("forget")[0].op)
                and "'$1 * $2 * $3'" in repr(f.ops("write")[0].op)
                and f.lit == ["Map steps"]
            )
        ),
    },
}
