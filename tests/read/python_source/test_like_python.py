"""What the interpreter computes of a source is what Python computes, and its limits stand."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from ncd.notation.term_reader import TextError
from ncd.read.python_source.attributes import attribute, module_method
from ncd.read.python_source.interpreter import (
    Interpreter,
    Scope,
    SourceException,
    UnknownValue,
)
from ncd.read.python_source.other_files import ExternalModule
from ncd.read.python_source.source_operators import binary_result
from ncd.read.python_source.source_reader import new_machine, read_source
from ncd.read.python_source.source_tree import deep

HEAD = """
import copy, dataclasses, functools, itertools, math, random, sys, torch, typing
from torch import nn
import numpy as np
from collections import OrderedDict
from dataclasses import asdict, dataclass, field, replace
@dataclass
class Config:
    n: int = 3
    sizes: list = field(default_factory=list)
    name: str = field(default="net")
class Base:
    kind = "base"
    def who(self): return "base " + self.kind
class Child(Base):
    kind = "child"
    def who(self): return super().who() + "!"
    def __len__(self): return 7
    def __getitem__(self, i): return i * 2
    def __call__(self, x, *more, last=1, **named): return x + sum(more) + last + len(named)
    @property
    def twice(self): return self.kind * 2
    @classmethod
    def made(cls): return cls()
    @staticmethod
    def plus(a, b=2): return a + b
def pairs(n):
    for i in range(n):
        yield i, i * i
    yield from [(0, 0)]
def told(error):
    try:
        error()
    except (KeyError, IndexError) as found:
        return "lookup"
    except ValueError:
        return "value"
    else:
        return "fine"
    finally:
        pass
c = Child()
def sh(x): return tuple(x.shape)
x, y = torch.ones(2, 3), torch.ones(2, 3).double()
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
p = nn.Parameter(torch.ones(2))
"""
# Expressions whose values are those of Python, a kind of them in a line.
ALIKE = """
[int("12"), int(3.9), int(-3.9), float("1e3"), float(2), bool([]), bool("a"), bool(), str(), int()]
[str(3), str(None), str(True), str(2.5), str([1, 2]), str((1, "a")), str((1,)), str({"a": 1})]
[str({})]
[repr("a"), repr(2), f"{'a'!r} {3:>4} {2.5:.2f} {'x':<3}|{7:03d} {True} {None}", f"{[1, 'b']} {()}"]
["{} {}".format(1, "b"), "{1} {0}".format(1, 2), "{a:.1f}{{}}".format(a=2), "{0:>3}".format(4)]
["%d %s %.2f %%" % (1, "b", 2.5), "%s" % "x", "%s" % [1], "%5d" % 3]
[list("ab"), tuple([1, 2]), dict(a=1), dict([("a", 1)]), dict({"a": 1}, b=2), set([1, 1]), list()]
[OrderedDict([("a", 1)]), OrderedDict(b=2), OrderedDict({"c": 3}, d=4), frozenset((1, 2)), dict()]
[len("abc"), len([]), len({1: 2}), len(range(5)), len(c), len(range(2, 9, 3))]
[list(range(3)), list(range(1, 4)), list(range(5, 0, -2)), range(3)[1], 2 in range(3)]
[2.0 in range(3)]
[list(enumerate("ab")), list(enumerate("ab", 1)), list(zip([1, 2], "abc")), list(reversed([1, 2]))]
[list(map(lambda x: x + 1, [1, 2])), list(map(lambda x, y: x * y, [1, 2], [3, 4, 5]))]
[list(filter(None, [0, 1, "", "a"])), list(filter(lambda x: x > 1, [1, 2, 3]))]
[sum([1, 2]), sum([[1], [2]], []), sum([], 4), min(3, 1), max([1, 5, 2]), min([3], default=0)]
[max("abc"), max([1, -3], key=abs), min([1, -3], key=lambda x: x), max([], default=9), min(2.5, 1)]
[all([1, 1]), all([1, 0]), all([]), any([0, 1]), any([0, 0]), any([])]
[sorted([3, 1]), sorted("ba", reverse=True), sorted([3, -4], key=abs)]
[sorted([1, 2], key=lambda x: -x)]
[next(iter([1])), next(iter([]), 5), list(iter([1, 2])), abs(-2), abs(2.5), abs(True)]
[round(2.567, 1), round(2.5), round(3.5), round(15, -1), pow(2, 3), divmod(7, 2), pow(2, -1)]
[isinstance(1, int), isinstance(True, int), isinstance(1.0, int), isinstance("a", (int, str))]
[isinstance([], list), isinstance((), (list, tuple)), isinstance({}, dict), isinstance(c, Base)]
[isinstance(c, Child), isinstance(Base(), Child), isinstance(c, (int, Base))]
[isinstance(1, (str, list))]
[issubclass(Child, Base), issubclass(Base, Child), issubclass(Child, (int, Base))]
[issubclass(Base, (int,))]
[isinstance(1, ((str, float), int)), isinstance(1, ((str, int),)), isinstance(1, ((str, float),))]
[getattr(c, "kind"), getattr(c, "none", 3), hasattr(c, "kind"), hasattr(c, "none"), callable(c)]
[callable(len), callable(pairs), callable(3), callable(Base), callable("a"), c.twice, Child.kind]
[type(3) is int, type("a") is str, type(c) is Child, type(c) is Base, type([]) is list]
[type(1) == float]
[c.who(), Base().who(), c[3], c(1), c(1, 2, 3), c(1, last=5), c(1, z=2, y=3), Child.made().kind]
[Child.plus(1), c.plus(1, 1), c.__class__ is Child, Child.__name__, c.__class__.__name__]
[list(pairs(3)), dict(pairs(2)), [a + b for a, b in pairs(3) if a], {k: v for k, v in pairs(2)}]
[{a for a, _ in pairs(2)}, [x for y in [[1], [2, 3]] for x in y if x != 2]]
[list(x * 2 for x in (1, 2))]
[told(lambda: {}["a"]), told(lambda: [][0]), told(lambda: int("a")), told(lambda: 1)]
[1 + 2, 5 - 3, 2 * 3, 7 / 2, 7 // 2, -7 // 2, 7 % 3, -7 % 3, 2 ** 3, 2 ** -1, 1 << 3, 9 >> 1]
[6 & 3, 6 | 3, 6 ^ 3, ~5, -3, +3, not 1, not 0, 1 and 0, 0 or 2, 1 and 2, 0 and 2, "" or "a"]
[1 < 2 < 3, 1 < 2 > 3, 1 == 1.0, 1 != 2, 2 <= 2, 2 >= 3, "a" in "abc", 1 not in [2], None is None]
[[1, 2] + [3], (1,) * 2, "ab" * 2, 2 * [0], [1, 2] == [1, 2], (1, 2) < (1, 3), "a" + "b"]
[[] is not None]
[[1, 2, 3][1:], [1, 2, 3][::-1], "abc"[-1], (1, 2, 3)[:2], [1, 2, 3][-2:], [0, 1, 2, 3][1:4:2]]
["ab"[5:]]
[{**{"a": 1}, "b": 2}, [*[1], *(2, 3)], (*"ab",), {*[1, 1]}, {1: 2}[1], {"a": 1} | {"b": 2}]
[1 if c else 2, (lambda a, b=2, *c, d=4, **e: (a, b, c, d, e))(1, 2, 3, d=5, f=6), (y := 3) + y]
["a,b".split(","), "-".join(["a", "b"]), " a ".strip(), "Ab".lower(), "ab".upper()]
["abc".startswith("a")]
["abc".endswith("c"), "a-b".replace("-", "_"), "abc".find("c"), "ab".title(), "a.b".rpartition(".")]
["aab".count("a")]
[[1, 2].index(2), [1, 1].count(1), {"a": 1}.get("b", 3), {"a": 1}.get("a"), list({"a": 1}.items())]
[list({"a": 1}.keys()), list({"a": 1}.values()), [3, 1].copy(), {1}.union({2}), (1, 2).index(2)]
[math.sqrt(9), math.ceil(2.1), math.floor(-2.1), math.log(8, 2), math.log2(8), math.prod([2, 3])]
[math.gcd(4, 6), math.factorial(0), math.factorial(50), math.comb(5, 2), math.comb(200, 200)]
[math.comb(0, 0)]
[math.pi, math.inf, math.isclose(1, 1 + 1e-12), math.hypot(3, 4), math.prod([2, 3], start=2)]
[float(x) for x in (np.sqrt(4.0), np.prod([2, 3]), np.floor(2.5), np.power(2, 3), np.abs(-3))]
[float(n) for n in (np.clip(5, 0, 3), np.clip(-1, 0, 3), np.maximum(1, 2), np.minimum(1, 2))]
[float(n) for n in (np.mod(7, 3), np.mod(-7, 3), np.floor_divide(7, 2), np.round(2.567))]
[float(n) for n in (np.sum([1, 2]), np.max([1, 5, 2]), np.min([3, 1]), np.sum(4), np.min(4))]
[float(n) for n in (np.exp(1), np.log(2.5), np.log2(8), np.log10(100), np.log1p(0.5))]
[float(n) for n in (np.sin(1), np.cos(1), np.tan(1), np.tanh(1), np.ceil(1.5), np.floor(-1.5))]
[float(n) for n in (np.pi, np.e, np.inf, np.max(4), np.prod([2, 3]))]
[np.cumsum([1, 2, 3]).tolist(), np.cumsum(4).tolist(), np.atleast_1d(3).tolist()]
[np.atleast_1d([3, 4]).tolist(), np.clip([1, 5], 2, 4).tolist()]
[np.maximum([1, 5], [2, 2]).tolist(), np.minimum(np.ones(2), 0).tolist()]
[np.arange(3).tolist(), np.stack([np.zeros(2), np.ones(2)]).tolist()]
[np.where(np.ones(2) > 0, np.ones(2), 5).tolist()]
[np.concatenate((np.ones(1), np.eye(1)[0])).tolist()]
[np.outer(np.ones(2), np.arange(2)).tolist(), np.outer([1, 2], (3, 0.5)).tolist()]
[np.where([True, False], [1, 2], 5).tolist(), np.where(np.arange(2) > 0, [0.5, 1], 2).tolist()]
[np.concatenate([[1, 2], [3]]).tolist(), np.concatenate(([[1]], np.ones((1, 1)))).tolist()]
[np.concatenate([[[1], [2]], [[3], [4]]], axis=1).tolist(), np.stack([[1, 2], (3, 4)]).tolist()]
[np.array([1, 2]).tolist(), np.full((1, 2), 3.0).tolist(), np.array([[1.5]]).tolist()]
[sys.version_info >= (3, 8), sys.version_info[0], len(sys.version_info[:2]), sys.maxsize]
[typing.TYPE_CHECKING, typing.cast(int, "a"), typing.OrderedDict(a=1), random.choice([4])]
[list(itertools.product([1, 2], repeat=0)), copy.copy({1: [2]}), copy.copy({1}), copy.copy(3)]
[functools.reduce(lambda a, b: a * b, [1, 2, 3]), functools.reduce(lambda a, b: a + b, [], 5)]
[functools.partial(pow, 2)(3), functools.partial(Child.plus, b=5)(1), functools.reduce(max, [3])]
[list(itertools.repeat(1, 3)), list(itertools.repeat(1, 0)), list(itertools.product([1, 2], "ab"))]
[list(itertools.product([0, 1], repeat=2)), list(itertools.chain([1], (2, 3)))]
[list(itertools.product())]
[list(itertools.pairwise([1, 2, 3])), list(itertools.accumulate([1, 2, 3]))]
[list(itertools.accumulate([1, 2, 3], lambda a, b: a * b))]
[list(itertools.accumulate([1], initial=4))]
[list(itertools.zip_longest([1, 2], [3])), list(itertools.zip_longest([1], [2, 3], fillvalue=0))]
[Config().n, Config(5).n, Config(name="a").name, Config(sizes=[1]).sizes, asdict(Config(2, [1]))]
[replace(Config(), n=4).n, replace(Config(4), name="b").n, copy.copy([1, 2])]
[copy.deepcopy({"a": [1]})]
[asdict(Config(Config(1), [Config(2)]))["sizes"][0]["n"], asdict(Config(Config(1)))["n"]["n"]]
[[2 * i + 1 for i in range(99)], [i / 4 for i in range(17)], [-i for i in range(16)]]
[[i ** 2 % 7 for i in range(3, 40, 2)], [i // 3 - n for n in [2] for i in range(20)]]
[[math.sqrt(i) + math.floor(i / 3) for i in range(20)], [math.pow(i, 2) for i in range(20)]]
[float([np.power(2.0, i) for i in range(20)][-1]), [abs(i) for i in range(-9, 9)]]
[[i for i in range(20) if i % 7], [str(i) for i in range(16)], [i for i in range(15)]]
[[(i, j) for i, j in enumerate(range(20))], [1 for i in range(20)], [c[i] for i in range(20)]]
[max([3, 1], [2, 9]), min("b", "a"), max((1, 2), key=lambda n: -n), min([4], [3], key=len)]
[sum(range(5)), sum((0.5, 1)), any(x > 2 for x in (1, 3)), all(x > 0 for x in ())]
[list(zip()), list(zip([1])), list(map(str, ())), list(enumerate([], 5)), list(reversed(()))]
[slice(1, 3), slice(2), slice(None, None, -1), [1, 2, 3][slice(1, 3)], "abc"[slice(None, None, -1)]]
[type(None) is type(3), type(c) == Child, type(True) is int, type(True) is bool, type({}) is dict]
[hasattr(3, "nothing"), hasattr(Base, "kind"), getattr(c, "none", None), getattr(Base, "kind")]
[round(-2.5), round(0.5), round(1.25, 1), round(7), divmod(-7, 2), pow(3, 2), abs(-0.0)]
[1 < 3 > 2, 1 < 2 > 2, 3 > 2 > 1 > 0, 3 > 1 > 2 > 0, 1 == 1 == 2, 1 in [1] in [[1]]]
[(0 or [] or {}), (1 and [] and 2), not (1 and 0), (None or 0), ("" and 1), (2 or 1 / 0)]
["{{{}}}".format(3), "{0}{0}{1}".format("a", "b"), "a{b}c{d}".format(b=1, d=2), "{{}}".format()]
"""
# The same of tensors and layers, of which it knows the shapes alone.
TENSORS = """
[sh(torch.eye(3)), sh(torch.eye(2, 3)), sh(torch.eye(0)), sh(torch.eye(2000, 1))]
[sh(torch.eye(2, 0))]
[sh(torch.randint(5, (2,))), sh(torch.randint(1, 5, (2, 3))), sh(torch.randint(high=5, size=(4,)))]
[sh(torch.randint(0, high=5, size=(4,))), sh(torch.randint(low=1, high=2, size=(3,)))]
[sh(torch.normal(0, 1, (2, 3))), sh(torch.normal(0.0, 1.0, size=(4,))), sh(torch.normal(x, x))]
[sh(torch.linspace(0, 1, 5)), sh(torch.linspace(0, 1, steps=3)), sh(torch.arange(5))]
[sh(torch.linspace(0, 1, 1))]
[sh(torch.arange(1, 5)), sh(torch.arange(0, 1, 0.25)), sh(torch.arange(5, 1, -2))]
[sh(torch.arange(end=4))]
[torch.arange(4, dtype=float).dtype == torch.float64, torch.ones(2, dtype=int).sum().item()]
[sh(torch.Tensor(2, 3)), sh(torch.Tensor()), sh(torch.Tensor([1, 2])), sh(torch.LongTensor(2))]
[sh(torch.FloatTensor([1]))]
[torch.LongTensor([1]).dtype, torch.Tensor(2).dtype, torch.FloatTensor(2, 1).dtype]
[torch.BoolTensor([1]).dtype]
[x.double().dtype, x.to(torch.float64).dtype, x.to("cpu", torch.float16).dtype]
[x.type(torch.int64).dtype]
[x.to(y).dtype, x.type_as(y).dtype, x.to("cpu").dtype, x.to(device="cpu", dtype=torch.int32).dtype]
[x.long().dtype]
[torch.float32.is_floating_point, torch.int64.is_floating_point, torch.float64.itemsize]
[torch.finfo(torch.float32).max]
[torch.finfo(x.dtype).eps, torch.iinfo(torch.int32).min, torch.device("cpu").type, x.device.type]
[x.device.index]
[sh(x.max(1).values), sh(x.min(0).indices), sh(x.max(1)[0]), sh(x.topk(2).values)]
[sh(x.sort().indices)]
[x.ndim, x.dim(), x.size(0), x.size(-1), tuple(x.size()), x.numel(), len(x), x.shape[1]]
[x.shape.numel()]
[sh(x.T), sh(x.mT), sh(x[0]), sh(x[:, 1:]), sh(x[None]), sh(x[..., 0]), sh(x[0, 1])]
[sh(x.unsqueeze(-1))]
[x.is_floating_point(), y.is_floating_point(), x.is_complex(), x.requires_grad, x.itemsize]
[x.is_sparse]
[isinstance(x, torch.Tensor), isinstance(p, nn.Parameter), isinstance(x, nn.Parameter)]
[isinstance(net, nn.Module)]
[isinstance(net, nn.Linear), isinstance(net[0], nn.Linear)]
[net.__class__ is nn.Sequential, net[0].__class__.__name__, nn.Linear.__name__]
[isinstance(net[0], (nn.Conv2d, nn.ReLU)), isinstance(x, int)]
[len(net), [type(one) is nn.Linear for one in net], [name for name, _ in net.named_parameters()]]
[[name for name, _ in net.named_children()], len(list(net.modules()))]
[sum(one.numel() for one in net.parameters())]
[net[0].in_features, net[-1].out_features, sh(net[0].weight), net[0].bias is None]
[net[2].bias is None, net.training]
[net.eval().training, net[0].training, net.train().training]
[[sh(one) for one in net.double().parameters()]]
[net.double()[0].weight.dtype, net.to(torch.float64)[0].bias.dtype, net.half() is net]
[nn.BatchNorm1d(3).double().running_mean.dtype]
[sh(nn.Parameter(torch.ones(2, 3))), p.requires_grad]
[nn.Parameter(x, requires_grad=False).requires_grad, sh(p)]
[sh(nn.BatchNorm2d(3).running_var), nn.Conv2d(3, 4, 5).kernel_size]
[nn.Conv2d(3, 4, (1, 5), padding=2).padding]
[len(nn.ModuleList([nn.ReLU()]) + [nn.ReLU()]), len(nn.ModuleDict({"a": nn.ReLU()}))]
["a" in nn.ModuleDict({"a": nn.ReLU()})]
[list(nn.ModuleDict({"a": nn.ReLU()}).keys()), len(copy.deepcopy(net))]
[copy.deepcopy(net)[0] is net[0], copy.deepcopy(p) is p]
[sh(x + 1), sh(1 - x), sh(x @ x.T), sh(x * x), sh(-x), sh(x ** 2), sh(x > 0), (x > 0).dtype]
[(x == x).all().item()]
[sh(torch.stack([x, x])), sh(torch.cat((x, x), 1)), sh(torch.where(x > 0, x, 0))]
[sh(np.ones((2, 3))), sh(np.sqrt(x))]
[(a.dtype, sh(a)) for a in map(torch.from_numpy, (np.zeros((2, 3)), np.eye(2), np.full((2,), 1.0)))]
[torch.from_numpy(a).dtype for a in (np.array([1.5]), np.array([1, 2]), np.linspace(0.0, 1.0, 5))]
[torch.tensor(a).dtype for a in (np.ones(3, dtype=np.float32), np.asarray([0.5], dtype=np.float64))]
[(a.dtype, sh(a)) for a in map(torch.tensor, (np.random.rand(2, 3), np.random.randn(4)))]
[sh(torch.zeros(2, 3)), sh(torch.zeros((2, 3))), sh(torch.ones_like(x)), sh(torch.full((2,), 1.0))]
[sh(torch.zeros([4]))]
[sh(torch.rand(2)), sh(torch.empty(3)), sh(torch.tensor([[1, 2]])), torch.tensor(3).item()]
[int(torch.tensor(3)), float(torch.tensor(2.5))]
[round(torch.tensor(2.5).item()), math.sqrt(torch.tensor(4.0))]
[bool(torch.tensor(1)), abs(torch.tensor(-2)).item()]
[tuple(torch.Size([2, 3])), f"{x.shape}", f"{torch.float32}", str(x.dtype), len(torch.Size([2]))]
[x.shape == (2, 3)]
[sh(nn.Parameter()), nn.Parameter().requires_grad, nn.Parameter(requires_grad=False).requires_grad]
[x.contiguous() is x, x.clone() is x, p.cpu() is p]
[torch.Size([2]) + (3,), (1,) + x.shape, x.shape[:-1] + (4,), [*x.shape], x.size()[0]]
[x.shape[-1] // 2]
[nn.Transformer.generate_square_subsequent_mask(3).tolist()]
[nn.Transformer.generate_square_subsequent_mask(2, dtype=torch.float64).dtype]
[nn.Transformer(4, 2, 1, 1, 8).generate_square_subsequent_mask(2).tolist()]
[sh(nn.Embedding.from_pretrained(torch.ones(5, 3)).weight), hasattr(nn.Linear, "from_pretrained")]
[nn.Embedding.from_pretrained(torch.ones(5, 3), padding_idx=1).padding_idx]
[nn.EmbeddingBag.from_pretrained(torch.ones(5, 3), mode="sum").mode]
[nn.Embedding.from_pretrained(torch.ones(5, 3), freeze=False).padding_idx]
"""
# Statements, and what they leave in ``found``.
PROGRAMS = {
    "deleted parts": """
class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 2), nn.Parameter(torch.ones(2)), nn.ReLU()
held = Held()
del held.a, held.b
found = [[hasattr(held, name) for name in "abc"], len(list(held.parameters()))]
""",
    "named tuples": """
from collections import namedtuple
from typing import NamedTuple
Point = namedtuple("Point", "x, y")
Size = namedtuple("Size", ["high", "wide"], defaults=[7])
pair = NamedTuple("pair", [("a", int), ("b", int)])
found = [tuple(Point(1, 2)), Point(y=3, x=4).x, tuple(Size(5)), Size(5, wide=6)._asdict()]
found += [Point(1, 2)._fields, tuple(Point(1, 2)._replace(y=5)), pair(1, b=2)[1], Point(1, 2)[0]]
""",
    "methods beside a module": """
class Root:
    def who(self): return "root"
    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.begun = self.who()
class Mix(Root):
    kind = "mix"
    def who(self): return "mix of " + super().who()
    @property
    def twice(self): return 2 * self.kind
class First(Mix, nn.Module):
    pass
class Last(nn.Module, Mix):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
    def who(self): return "last, " + super().who()
class Linear(Mix, nn.Linear):
    pass
one, two, three = First(), Last(), Linear(2, 3, bias=False)
found = [one.who(), one.begun, one.twice, two.who(), two.twice, three.begun, sh(three.weight)]
found += [isinstance(x, kind) for x in (one, two, c) for kind in (Mix, Root, nn.Module, First)]
found += [issubclass(First, Mix), issubclass(First, nn.Module), Mix().who(), hasattr(two, "begun")]
""",
    "decorators": """
def twice(f):
    @functools.wraps(f)
    def run(*args):
        return 2 * f(*args)
    return run
@twice
@functools.lru_cache(maxsize=None)
def one(n):
    return n + 1
@functools.lru_cache
def two(n):
    return n + 2
@functools.cache
def three(n): return n + 3
@dataclass(frozen=True)
class Held:
    n: int
    more: str = "a"
@functools.total_ordering
class Ordered(Base):
    def __lt__(self, other): return True
found = [one(3), two(3), three(3), Held(4).n, Held(4).more, Ordered().kind]
""",
    "arguments of a script": """
import argparse
parser = argparse.ArgumentParser("it", description="it runs")
parser.add_argument("-w", "--the-width", type=int, default="12")
parser.add_argument("--rate", type=float, default=0.1, help="of learning")
parser.add_argument("-n", default=3)
parser.add_argument("--kind", dest="sort", default="a")
group = parser.add_argument_group("more")
group.add_argument("--plain", action="store_true")
group.add_argument("--no-bias", dest="bias", action="store_false")
group.add_argument("--none", type=int)
parser.set_defaults(n=4, extra=5)
args = parser.parse_args([])
known, rest = parser.parse_known_args([])
found = [args.the_width, args.rate, args.n, args.sort, args.plain, args.bias, args.none, args.extra]
found += [known.sort, rest, argparse.Namespace(a=1).a]
""",
    "trees": """
from types import SimpleNamespace
from torch.utils._pytree import tree_map
held = SimpleNamespace(a=1, b=[2])
held.c = held.a + 1
found = [held.a, held.b, held.c, tree_map(lambda n: n + 1, {"a": (1, [2]), "b": 3})]
found += [tree_map(lambda n, m: n * m, [1, (2,)], [3, (4,)])]
""",
    "loops": """
found = []
for i in range(9):
    if i == 2: continue
    if i == 5: break
    found.append(i)
else:
    found.append("end")
for i in []: pass
else: found.append("none")
while len(found) < 9:
    found += [0]
else: found.append("whole")
""",
    "copies": """
a = Config(1, [1])
b, d, e = copy.copy(a), copy.deepcopy(a), replace(a, n=2)
b.n = 5; d.sizes.append(2); e.sizes.append(3)
row = [1]; other = copy.copy(row); other.append(2)
found = [a.n, b.n, e.n, a.sizes, d.sizes, row, Config().sizes is Config().sizes]
""",
    "unpacking": """
a, *b = [1, 2, 3]
(c1, d1), e1 = (1, 2), 3
*f, g = "abc"
x = y = [0]
x[0] = 4
d = {"a": 1}
d["b"], n = 2, 3
n -= 1; n *= 4; n //= 3; n **= 2
del d["a"]
found = [a, b, c1, d1, e1, f, g, y, d, n]
""",
    "scopes": """
n = 1
def outer():
    n = 2
    def inner():
        nonlocal n
        n += 1
        return n
    inner()
    return n, inner()
def whole():
    global n
    n = 10
before = n
found = [outer(), before, whole(), n]
""",
    "methods": """
row = [3, 1]
row.extend([2]); row.insert(0, 9); row.sort(); last = row.pop(); row.reverse()
table = {"a": 1}
table.update({"b": 2}); table.update([("c", 3)]); table.setdefault("d", []).append(4)
found = [row, last, table, table.pop("a"), table]
""",
    "errors": """
found = []
try:
    raise ValueError("bad")
except ValueError as error:
    found.append(str(error))
try:
    found.append(1 / 0)
except (TypeError, ZeroDivisionError):
    found.append("zero")
finally:
    found.append("last")
try:
    assert 1 == 1, "same"
    assert found == [], "other"
except AssertionError as error:
    found.append(str(error))
try:
    Base(1)
except TypeError:
    found.append("no arguments")
with torch.no_grad():
    found.append(4)
""",
    "properties": """
from abc import ABCMeta
class Sized(Base, metaclass=ABCMeta):
    def __init__(self, n):
        self.n = n
    @property
    def n(self):
        return self.kept
    @n.setter
    def n(self, value):
        self.kept = 2 * value
    @functools.cached_property
    def three(self):
        return 3 * self.n
class Wide(Sized):
    pass
one, two = Sized(2), Wide(5)
two.n = 7
try:
    raise FileNotFoundError("none")
except OSError as error:
    last = str(error)
found = [one.n, one.three, two.n, two.kept, last]
""",
    "match": """
def kind(x):
    if isinstance(x, str): return "text"
    elif x is None: return "none"
    elif x in (1, 2): return "few"
    else: return "many"
found = [kind("a"), kind(None), kind(2), kind(3)]
""",
}


def interpreted(text: str, machine: Interpreter | None = None) -> Any:
    machine, scope = machine or new_machine(), Scope()
    with deep():
        machine.run(ast.parse(text).body, scope)
    return plain(scope.names["found"])


def plain(value: Any) -> Any:
    """Returns a value with lists in place of iterators."""
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return list(value) if isinstance(value, Iterator) else value


def by_python(text: str) -> Any:
    module = SimpleNamespace(**{"__name__": "python_itself", "torch": torch})
    sys.modules["python_itself"] = module  # type: ignore[assignment]  # where dataclasses look
    exec(compile(text, "source", "exec", dont_inherit=True), vars(module))
    return plain(vars(module)["found"])


@pytest.mark.parametrize(
    "line", [line for line in (ALIKE + TENSORS).splitlines() if line], ids=lambda line: line[:30]
)
def test_an_expression_has_the_value_of_python(line: str) -> None:
    text = f"{HEAD}\nfound = {line}"
    assert repr(interpreted(text)) == repr(by_python(text))


@pytest.mark.parametrize("name", PROGRAMS)
def test_statements_do_what_python_does(name: str) -> None:
    text = f"{HEAD}\n{PROGRAMS[name]}"
    assert repr(interpreted(text)) == repr(by_python(text))


def steps(text: str) -> int:
    machine, scope = new_machine(), Scope()
    with deep():
        machine.run(ast.parse(text).body, scope)
    return machine.steps


@pytest.mark.parametrize(
    ("formula", "each"),
    [("2 * i", 1), ("+".join(["i"] * 8), 1), ("+".join(["i"] * 9), 2), ("-i", 1), ("3", 1)],
)
def test_numbers_of_a_plain_formula_are_a_step_each(formula: str, each: int) -> None:
    """Or one more for eight operations; what is no formula takes a step for each of its parts."""
    text = f"found = [{formula} for i in range({{}})]"
    assert steps(text.format(1016)) - steps(text.format(16)) == 1000 * each
    plain = f"found = [{formula} for i in range({{}}) if 1]"
    assert steps(plain.format(1016)) - steps(plain.format(16)) > 1000 * each


def test_few_numbers_are_read_as_all_else_is() -> None:
    text = "found = [2 * i + 1 for i in range({})]"
    assert steps(text.format(16)) < steps(text.format(15))


@pytest.mark.parametrize("value", ["lambda: 1", "len", "range(3)", "slice(1)", "iter([1])"])
def test_a_type_that_has_no_name_here_is_not_known(value: str) -> None:
    assert isinstance(interpreted(f"found = type({value})"), UnknownValue)
    assert interpreted("found = type(None)") is type(None)


@pytest.mark.parametrize("call", ["super()", "super(1)", "super(c)", "super().kind"])
def test_super_outside_of_a_method_is_refused(call: str) -> None:
    for text in (f"found = {call}", f"def f(): return {call}\nfound = f()"):
        with pytest.raises(TextError) as error:
            interpreted(f"{HEAD}\n{text}")
        assert "super() stands outside of a method" in str(error.value)
        assert error.value.cure == "super().__init__()"


LONG = "it goes through more than 100,000 things"
# Expressions at a limit, and one beyond it, with what is said of it.
EDGES = {
    "what an array has": ("1\nx.data = x", "1\nx.other = 3", "'other' of a tensor cannot be set"),
    "what a function has": ("1\npairs.n = 3", "1\nlen.n = 3", "'n' of "),
    "what a module has": ("1", "1\ndel net.p", "p cannot be deleted"),
    "what is no module": ("1", "1\ndel c.kind", "kind cannot be deleted"),
    "arguments": ("(lambda x: x)(1)", "(lambda x: x)(1, z=2, b=3)", "has no argument 'b'"),
    "factorial": ("math.factorial(50)", "math.factorial(51)", "factorial of a number over 50"),
    "factorial of less": ("math.factorial(0)", "math.factorial(-1)", "factorial of a number over"),
    "choice": ("math.comb(200, 2)", "math.comb(201, 2)", "comb of a number over 200"),
    "choice of more": ("math.comb(2, 2)", "math.comb(2, 3)", "comb of a number over 200"),
    "choice of less": ("math.comb(2, 0)", "math.comb(2, -1)", "comb of a number over 200"),
    "repeated": ("len([*itertools.repeat(1, 100_000)])", "itertools.repeat(1, 100_001)", "often"),
    "repeated without end": ("1", "itertools.repeat(1)", "it is repeated too often"),
    "repeated below 0": ("1", "itertools.repeat(1, -1)", "it is repeated too often"),
    "products": (
        "len([*itertools.product(range(1000), range(100))])",
        "itertools.product(range(1000), range(101))",
        "it goes through too many things",
    ),
    "products repeated": (
        "len(next(itertools.product([1], repeat=20)))",
        "itertools.product([1], repeat=21)",
        "it goes through too many things",
    ),
    "products repeated below 0": ("1", "itertools.product([1], repeat=-1)", "too many things"),
    "a choice": ("random.choice([1])", "random.choice([])", "a choice of nothing"),
    "a named tuple": (
        "typing.NamedTuple('P', [(f'a{i}', int) for i in range(50)])(*range(50))[49]",
        "typing.NamedTuple('P', [(f'a{i}', int) for i in range(51)])",
        "the fields of a named tuple are not understood",
    ),
    "no field of a tuple": (
        "typing.NamedTuple('P', [('a', int)])(1).a",
        "typing.NamedTuple('P', [('a', int)])(1).b",
        "b of P is not understood here",
    ),
    "a field of a tuple": (
        "1",
        "typing.NamedTuple('P', [('a b', int)])",
        "fields of a named tuple",
    ),
    "a number as a field": ("1", "typing.NamedTuple('P', [(3, int)])", "fields of a named tuple"),
    "reduced": ("functools.reduce(max, [1])", "functools.reduce(max, [])", "reduce of nothing"),
    "a data class": ("replace(Config()).n", "replace(3)", "replace takes an object"),
    "a class": ("dataclass(Base) is Base", "dataclass(3)", "@dataclass stands before a class"),
    "names": ("getattr(c, 'kind')", "getattr(c, 3)", "getattr takes a name"),
    "no name": ("hasattr(c, 3)", "setattr(c, 3, 4)", "setattr takes a name"),
    "hidden of a layer": ("net.__class__", "net.__dict__", "is not understood here"),
    "hidden": ("hasattr(c, '__dict__x')", "c.__subclasses__", "is not understood here"),
    "text of lists": ("str([[[1]]])", "len(str([['a' * 9_999, 'b' * 9_999]] * 3))", "20,000"),
    "joined": ("len('a'.join(['b'] * 9_000))", "'a' * 9 + 'b'.join(['c' * 9_999] * 3)", "letters"),
    "joined by more": ("1", "('a' * 20_000).join(['b'] * 9)", "it becomes too long"),
    "replaced": ("1", "('a' * 20_000).replace('a', 'b' * 9)", "it becomes too long"),
    "a field": ("'{}'.format(1)", "'{0.real}'.format(1)", "a field of format is a number or a"),
    "width": ("'{:99}'.format(1)", "'{:100}'.format(1)", "this way to write a value"),
    "percent": ("'%99d' % 1", "'%100d' % 1", "this way to write a value is not understood"),
    "counted": ("len(range(100_000))", "[*range(100_001)]", LONG),
    "counted far": ("len([*range(10**6, 10**6 + 9)])", "[*range(10**30)]", LONG),
    "a number": ("int('1' * 49)", "int('1' * 50)", "str is not a number"),
    "places": ("round(1.5, 29)", "round([1])", "type list doesn't define"),
    "an identity": ("sh(torch.eye(2000))", "torch.eye(2001)", "more than 4,000,000 numbers"),
    "an identity of rows": ("1", "torch.eye(2, 2001)", "more than 4,000,000 numbers"),
    "an identity below 0": ("1", "torch.eye(-1)", "more than 4,000,000 numbers"),
    "a line": ("sh(torch.linspace(0, 1, 0))", "torch.linspace(0, 1, -1)", "more than"),
    "no size": ("1", "torch.linspace(0, 1, 2.5)", "more than"),
    "asserted": ("torch._assert(1 == 1, 'a')", "torch._assert(1 == 2, 'why')", "why"),
    "a condition": ("1 if torch.ones(1) else 2", "1 if torch.ones(2) else 2", "depends on the"),
    "a parameter": ("sh(nn.Parameter(x))", "nn.Parameter(3)", "nn.Parameter takes a tensor"),
    "a module in arithmetic": ("1 + 2", "1 + c", "Child takes no part in arithmetic"),
    "a tensor in a tensor": ("1 in [1]", "1 in x", "whether a tensor holds a number"),
    "extended": ("[1].extend([2])", "[0].extend([0] * 100_000)", "it becomes too long"),
    "updated": ("{}.update({1: 2})", "{}.update(3)", "not iterable"),
}


@pytest.mark.parametrize("name", EDGES)
def test_what_is_beyond_a_limit_is_refused(name: str) -> None:
    allowed, beyond, words = EDGES[name]
    interpreted(f"{HEAD}\nfound = {allowed}")
    with pytest.raises((TextError, SourceException)) as error:
        interpreted(f"{HEAD}\nfound = {beyond}")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def sqrt(x): return 0\nfrom math import sqrt\nfound = sqrt(4)", 2.0),
        ("def sqrt(x): return 0\nfrom .other import sqrt\nfound = sqrt(4)", 0),
        ("def sqrt(x): return 0\nfrom elsewhere import sqrt\nfound = sqrt(4)", 0),
        ("sqrt = 3\nfrom math import sqrt\nfound = sqrt(4)", 2.0),
        ("pi = 3\nfrom elsewhere import pi\nfound = pi", 3),
        ("import math as m\nfrom math import sqrt as root, pi\nfound = root(m.floor(pi) + 1)", 2.0),
    ],
)
def test_a_listed_library_takes_the_place_of_a_name_and_another_file_does_not(
    text: str, found: object
) -> None:
    assert interpreted(text) == found


def test_a_checkpoint_calls_its_function_without_its_own_settings() -> None:
    called = "checkpoint(lambda a, b, k=3: (a, b, k), 1, 2, use_reentrant=False{})"
    head = "from torch.utils.checkpoint import checkpoint\nfound = "
    assert interpreted(head + called.format(", preserve_rng_state=True")) == (1, 2, 3)
    assert interpreted(head + called.format(", k=4")) == (1, 2, 4)


@pytest.mark.parametrize(
    "change",
    [
        "lerp_(x, 0.3)",
        "addcmul_(x, x)",
        "addcdiv_(x, x + 9)",
        "tril_()",
        "triu_(1)",
        "sin_()",
        "cos_()",
        "abs_().log_()",
        "nan_to_num_()",
        "add_(9).reciprocal_()",
        "square_()",
        "index_add_(0, torch.tensor([0, 2]), x[:2])",
        "scatter_add_(1, torch.tensor([[0, 2], [1, 1], [2, 0]]), x[:, :2])",
    ],
)
def test_what_changes_an_array_in_place_gives_the_numbers_of_torch(change: str) -> None:
    found = read_source(f"""class Net(nn.Module):
    def forward(self, x):
        y = x * 2
        y.{change}
        return y + x
Net()(torch.randn(3, 3))
""")
    assert (found.failure, found.note, found.shapes) == (None, "", ((3, 3),))


OTHERS = "from .other import n, Far, load\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("len(range(n))", 0),
        ("len([*range(2, n)])", 0),
        ("[i for i in load()]", []),
        ("max(n, 1).name", "n.name"),
        ("min([2, n]).name", "n.name"),
        ("nn.Embedding.from_pretrained(n).weight", "n.weight"),
        ("functools.partial(n, 3).kind", "n.kind"),
    ],
)
def test_what_is_made_of_what_is_not_known(text: str, found: object) -> None:
    value = interpreted(f"{HEAD}{OTHERS}found = {text}")
    assert (value.name if isinstance(value, UnknownValue) else value) == found


def test_a_part_of_a_class_of_another_file_is_deleted_there() -> None:
    extended = "class Own(Far):\n    def forward(self, x):\n        return x\n"
    assert interpreted(f"{HEAD}{OTHERS}found = 1\nfar = Far(3)\ndel far.head") == 1
    assert interpreted(f"{HEAD}{OTHERS}{extended}found = 1\nown = Own()\ndel own.head") == 1


class Reflected(int):
    """A whole number that takes part in arithmetic in a way of its own."""

    def __rmul__(self, other: float) -> str:  # type: ignore[override]
        return f"{other} times it"


def test_a_number_of_its_own_kind_has_its_turn() -> None:
    machine = new_machine()
    assert binary_result(machine, ast.Mult(), 2.5, Reflected(3)) == "2.5 times it"
    assert binary_result(machine, ast.Mult(), 2.5, 3) == 7.5


def test_errors_of_a_part_of_a_text_are_those_of_the_reader_or_of_memory() -> None:
    def failing(words: str) -> Any:
        def read(*_: Any) -> None:
            raise RuntimeError(words)

        machine = new_machine()
        machine.expressions = {ast.Name: read}
        return machine.value(ast.parse("x", mode="eval").body, Scope())

    with pytest.raises(TextError, match=r"it needs too much memory\. Try smaller sizes"):
        failing("[enforce fail] can't allocate memory: 4 bytes")
    with pytest.raises(RuntimeError, match="other"):
        failing("other")


def test_a_class_of_several_files_is_one_object_of_each_place() -> None:
    far = ExternalModule(new_machine(), UnknownValue("Far", ""))
    assert far[0] is far[0] and far[0] is not far[1]
    parameters = module_method(new_machine(), far, "parameters")
    assert [one.shape for one in parameters()] == [(1,)]


# --- Devices and formats, of which a reading may know


def placed(device: str = "cuda:1") -> tuple[Interpreter, Mock]:
    machine = new_machine()
    place = Mock()
    place.named_device.return_value, place.device.return_value = device, device
    place.put.return_value = "moved"
    machine.placement = place
    return machine, place


def test_a_value_is_put_on_the_device_that_is_named_at_its_line() -> None:
    machine, place = placed()
    assert machine.put(3, ["cuda:1"]) == "moved"
    place.put.assert_called_with(3, "cuda:1", 0)
    machine.node = ast.parse("\n\nx").body[0]
    machine.put(3, ["cuda:1"])
    place.put.assert_called_with(3, "cuda:1", 3)
    assert placed("")[0].put(3, []) == 3 and new_machine().put(3, ["cuda"]) == 3
    assert machine.put(3, ["cuda:1", UnknownValue("d", "")]) == 3 and machine.placement is None


def test_the_device_of_an_array_is_that_of_its_place() -> None:
    x = torch.ones(2)
    for device, found in (("cuda:1", "cuda:1"), ("", "cpu")):
        assert attribute(placed(device)[0], x, "device") == torch.device(found)
    assert attribute(new_machine(), x, "device") == torch.device("cpu")
    machine, place = placed()
    for has in (True, False):
        place.has_gpu = has
        assert interpreted("found = torch.cuda.is_available()", machine) is has
    assert interpreted("found = torch.cuda.is_available()") is False


@pytest.mark.parametrize(
    ("line", "followed"),
    [
        ("net.to(n, non_blocking=True)", False),
        ("net.to(True, n)", False),
        ("net.to('cpu')", True),
        ("net.to(torch.float64)", True),
        ("net.half()", True),
        ("torch.set_default_dtype(n)", False),
        ("torch.set_default_dtype(torch.float16)", True),
    ],
)
def test_formats_are_followed_until_one_is_not_known(line: str, followed: bool) -> None:
    machine = new_machine()
    machine.follows_formats = True
    interpreted(f"{HEAD}{OTHERS}{line}\nfound = 0", machine)
    assert machine.follows_formats is followed
    assert machine.default_format == (torch.float16 if "default_dtype(torch" in line else None)
