"""Hostile sources: each line stands at the top, in ``__init__`` and in ``forward`` of a module."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.support.sources import LENET

LINES = """
import os; os.system("touch /tmp/harm")
import sys; sys.exit(3)
import subprocess; subprocess.run(["id"])
import socket; socket.create_connection(("127.0.0.1", 9))
import ctypes; ctypes.string_at(0)
import builtins; builtins.eval("1")
from os import system as relu; y = relu("id")
__import__("os").system("id")
open("/etc/passwd").read()
eval("1 + 1")
exec("y = 1")
compile("1", "a", "exec")
globals()["x"] = 1
vars(torch)
dir(torch)
input("name")
breakpoint()
exit()
memoryview(b"a")
torch.load("model.pt")
torch.save(torch.ones(2), "/tmp/harm")
torch.hub.load("a/b", "c")
torch.ops.load_library("a.so")
torch.classes.load_library("a.so")
torch.utils.cpp_extension.load("a", ["a.cpp"])
torch.jit.load("a.pt")
torch.jit.script("def f(): pass")
torch.compile(lambda x: x)(torch.ones(2))
torch.package.PackageImporter("a")
torch.multiprocessing.spawn(print)
torch.distributed.init_process_group("gloo")
torch.autograd.Function.apply(1)
torch.from_file("/etc/passwd")
torch.serialization.load("a")
torch.UntypedStorage.from_file("/etc/passwd", False, 9)
torch.fx.symbolic_trace(nn.ReLU())
torch.Tensor.__reduce_ex__(torch.ones(1), 2)
torch.ones(2).__class__.__mro__
torch.ones(2).numpy()
torch.ones(2).storage()
torch.ones(2).data_ptr()
torch.ones(2).register_hook(print)
torch.ones(2).apply_(print)
torch.ones(2).map_(torch.ones(2), print)
torch.frombuffer(b"1234")
().__class__.__bases__[0].__subclasses__()
"".__class__.__mro__[1].__subclasses__()
(lambda: 0).__globals__["os"]
(lambda: 0).__code__.co_consts
nn.Linear.__init__.__globals__
nn.Linear(2, 2).__dict__
nn.Linear(2, 2).__class__.__bases__
nn.Linear(2, 2).register_forward_hook(print)
nn.Linear(2, 2)._parameters
nn.Linear(2, 2)._call_impl(torch.ones(2))
nn.Module.__setattr__.__globals__
getattr(torch, "load")("a")
getattr(nn.Linear(2, 2), "__dict__")
getattr("", "__class__")
setattr(nn.Linear, "forward", print)
nn.Linear.forward = print
torch.ones = print
math.sqrt = print
y = "{0.__class__}".format(1)
y = "{0[__class__]}".format({})
y = "%s" % (lambda: 0).__code__
y = f"{(1).__class__}"
y = f"{1:1000000000}"
y = "%1000000000d" % 1
y = "{:1000000000}".format(1)
y = "a" * 10**12
y = "a" * 10000 * 10000
y = [0] * 10**12
y = 10**10**10
y = 2 ** (2 ** 62)
y = 1 << 10**9
y = -3 ** 99999999
y = math.factorial(10**9)
y = math.comb(10**9, 10**8)
y = math.prod(range(1, 10**9))
y = sum(range(10**15))
y = list(range(10**15))
y = max(range(10**15))
y = [i for i in range(10**9)]
y = {i: i for i in range(10**9)}
y = sorted(range(10**9))
y = 5 in list(range(10**9))
y = 5.5 in range(10**12)
y = len(range(10**30))
y = "a".join(["b" * 10000] * 10000)
y = ("ab" * 5000).replace("a", "b" * 10000)
y = int("9" * 100000)
y = torch.ones(10**10)
y = torch.zeros(10**6, 10**6).cos()
y = torch.arange(10**15)
y = torch.arange(0, 1, 1e-15)
y = torch.linspace(0, 1, 10**12)
y = torch.eye(10**6)
y = torch.full((10**6, 10**6), 1)
y = torch.ones(1000).repeat(10**10)
y = torch.ones(3000, 1, 1) * torch.ones(1, 3000, 1) * torch.ones(1, 1, 3000)
y = torch.ones(2)[torch.zeros(10**5, 10**3).long()]
y = torch.cartesian_prod(*[torch.arange(99)] * 9)
y = nn.Linear(10**18, 10**18)
y = nn.Linear(-1, 2)
y = nn.Sequential(*[nn.ReLU()] * 10**7)
y = nn.Conv2d(3, 3, 10**9)(torch.ones(1, 3, 9, 9))
y = nn.ModuleList([nn.Linear(2, 2) for _ in range(10**6)])
y = torch.einsum("a" * 5000, torch.ones(2))
y = einops.rearrange(torch.ones(2), "(" * 5000)
y = x if x.sum() > 0 else -x
y = [y for y in iter(int, 1)]
y = (yield)
y = await x
y = lambda: (yield)
y = (z := 10**9) ** (z := 10**9)
y = *x, *x
while True: pass
while 1: y = 1
for y in iter(lambda: 1, 2): pass
f = lambda: f(); f()
f = lambda n: f(n) + f(n); f(1)
f = lambda *a: f(*a, *a); f(1)
y = []; y.append(y); print(y); y == y
y = []; [y.extend(y or [1]) for _ in range(99)]
y = [1]; [y := [y, y] for _ in range(99)]; f"{y}"
assert False, "a" * 10**9
raise SystemExit(3)
raise KeyboardInterrupt
raise BaseException("a")
del torch.ones
del self
with open("/etc/passwd") as f: pass
with torch.cuda.device(0): pass
async def f(): pass
break
continue
return x
def f(): break
[f for f in [lambda: f]][0]()
for y in [1]: f = lambda: y; y = f(); del y
del y, y, y
y: int
class M(type): pass
class A(metaclass=type): pass
class A(torch.autograd.Function): pass
class A(torch.utils.data.Dataset): pass
class A(int): __add__ = print
class A(nn.Module, nn.Linear, dict): pass
class A(object): __getattr__ = print
class A(nn.Module): __getattribute__ = print; __reduce__ = print; __del__ = print
@property
def __class__(self): return type(self)
global torch; torch = 1
nonlocal x
try: 1 / 0
except BaseException: raise
match x:
    case nn.Module(): pass
import torch.utils.cpp_extension as c; c.load_inline("a", "b")
from torch.utils.data import *
from torch import load; load("a")
from torch import ops as o; o.aten.add(1, 2)
y = torch.library.custom_op("a::b", print)
y = torch.nn.utils.parametrize.register_parametrization(self, "a", print)
y = self.register_forward_pre_hook(print)
y = self.__dict__
self.__class__ = nn.Linear
self.__dict__ = {}
self._parameters = {}
self._modules["a"] = print
self._forward_hooks = {0: print}
self.forward = print
self.training = [print]
self.own_names = 3; self.made_with = 4
self.call_super_init = print
y = type("A", (nn.Module,), {})
y = type(self)(1, 2, 3)
y = type(x)(10**12)
y = super().__class__
y = super().__getattribute__("__dict__")
y = self.__init__.__func__.__globals__
y = self.forward.__self__.__class__.__base__
y = id.__self__
y = print.__module__
y = x.__array_interface__
y = x.grad_fn.next_functions
y = x.item()
y = x.tolist() * 10**9
y = b"a" * 10**12
"""


def _blocks() -> list[str]:
    """Returns the lines, with those that belong together as one."""
    found: list[str] = []
    for line in LINES.strip().splitlines():
        follows = line.startswith((" ", "except", "def __class__"))
        if follows and found:
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def _indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())


def hostile() -> Iterator[str]:
    """Yields every line at every place."""
    for line in _blocks():
        first = second = "pass"
        for place in range(3):
            top = line if place == 0 else ""
            first, second = (line if place == i else "pass" for i in (1, 2))
            yield f"""
import torch, math, einops
from torch import nn
{top}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
{_indented(first, 8)}
    def forward(self, x):
{_indented(second, 8)}
        return self.layer(x)
Net()(torch.ones(3, 4))
"""
        if "\n" not in line:  # as the argument of a line, and as its input
            yield f"nn.Linear({line.removeprefix('y = ')}, 3)"
            yield f"nn.Sequential(nn.Linear(4, 3), nn.ReLU())({line.removeprefix('y = ')})"
    yield "nn.Sequential(" + "nn.ReLU()," * 5000 + ")(2, 3)"
    yield "nn.Sequential(" * 300 + "nn.ReLU()" + ")" * 300
    yield "nn.Conv2d(3, 64, 7)(10**9, 10**9, 10**9, 10**9)"
    yield "nn.Conv2d(3, 64, 7)(999999999, 999999999, 999999999, 999999999)"
    yield "nn.Conv2d(3, 999999999, 999999999)(1, 3, 9, 9)"
    yield "nn.ReLU()(torch.randn(10**9, 10**9))"
    yield "(" * 50_000
    yield "x = " + "-" * 50_000 + "1"
    yield "x = " + "+".join("1" * 20_000)
    yield "x = " + "[" * 90 + "]" * 90
    yield "\n".join(f"{' ' * i}if True:" for i in range(95))
    yield "class A:\n" * 3
    yield "\0"
    yield "\ud800class A: pass"
    yield "class " + "A" * 50_000 + ": pass"
    yield "999999999x999999999x999999999\n" * 2


def mutations(count: int) -> Iterator[str]:
    """Yields a good source with a few random mistakes, always the same ones."""
    draw = random.Random(0)
    words = LENET.split()
    for _ in range(count):
        text = LENET
        for _ in range(draw.randint(1, 4)):
            at, end = draw.randrange(len(text)), draw.randrange(1, 12)
            put = draw.choice([draw.choice(words), chr(draw.randrange(32, 127)), "", "\n", "10**9"])
            text = text[:at] + put + text[at + end :]
        yield text
