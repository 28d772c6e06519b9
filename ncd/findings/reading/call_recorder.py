"""Records each call of torch with its place in the source, its layer, and the arrays around it."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_iter, tree_map

from ncd.findings.reading.number_ranges import check_range
from ncd.findings.reading.recurrent_kernels import KERNELS, kernel
from ncd.findings.reading.size_table import OutOfTime, SizeTable
from ncd.findings.reading.traced_numbers import Real, Whole
from ncd.pytorch_source.base.machine import Machine

MOST = 20_000  # calls that are kept
SIZES = ("__get__", "size", "stride", "numel", "nelement", "dim", "__len__", "storage_offset")
QUIET = (*SIZES, "__set__", "is_floating_point", "is_complex", "is_contiguous", "is_nested")
WINDOWS = ("conv", "pool", "interpolate", "pad", "unfold")
FIRST_NUMBERS = ("uniform_", "normal_", "fill_", "zero_", "trunc_normal_", "bernoulli_")
SHORT, LONG = 3, 24  # parts of the expression of a size after a window, and after any call
MAKERS = ("zeros", "ones", "empty", "rand", "randn", "full", "randint", "expand", "arange", "eye")


@dataclass(eq=False)
class Layer:
    """A module that runs, and what it was given."""

    path: str
    module: nn.Module
    arrays: tuple[Tensor, ...]


@dataclass(eq=False)
class Call:
    """A call of a function of torch.

    ``node`` is where it stands in the source, ``layer`` the innermost module that makes it (None
    outside of any), ``takes`` and ``gives`` its arrays, ``words`` its other arguments by place or
    name, ``number`` which call it is.
    """

    name: str
    function: Any
    node: ast.AST
    layer: Layer | None
    takes: tuple[Tensor, ...]
    words: dict[int | str, Any]
    number: int = 0
    gives: tuple[Tensor, ...] = ()
    error: Exception | None = None
    shapes: tuple[tuple[Any, ...], ...] = ()  # of what it takes, as expressions

    @property
    def path(self) -> str:
        """The path of its layer."""
        return self.layer.path if self.layer else ""


@dataclass(eq=False)
class Recorder(TorchFunctionMode):
    """Runs a source's calls on arrays without numbers, and records them."""

    machine: Machine
    table: SizeTable
    fake: FakeTensorMode
    symbolic: bool
    calls: list[Call] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)  # those that run, the outermost first
    paths: dict[int, str] = field(default_factory=dict)  # of modules, by their ids
    makers: dict[int, Call] = field(default_factory=dict)  # of arrays, by their ids
    limits: dict[int, Any] = field(default_factory=dict)  # that the numbers of arrays are below
    kept: list[Any] = field(default_factory=list)  # so that no id is given twice

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name, words = getattr(func, "__name__", str(func)), dict(kwargs or {})
        if func is torch._C._set_grad_enabled:
            return func(*args, **words)  # the end of a no_grad comes here too, and may not fail
        if time.process_time() > self.table.deadline:
            raise OutOfTime
        args, words = tree_map(self._in, args), tree_map(self._in, words)
        if name in QUIET:
            return self._sizes(func(*args, **words))
        if name == "__deepcopy__":
            return self._copied(args[0], args[1])
        return self._recorded(name, func, args, words)

    def call_of(self, name: str, func: Any, args: Any, words: dict[str, Any]) -> Any:
        """Runs a function of Python that calls those of torch, and records it as one call."""
        args, words = tree_map(self._in, args), tree_map(self._in, words)
        with torch._C.DisableTorchFunction():
            return self._recorded(name, func, args, words)

    def _recorded(self, name: str, func: Any, args: Any, words: dict[str, Any]) -> Any:
        call = self._begun(name, func, args, words)
        try:
            check_range(self, call)
            found = self._run(call, func, args, words)
        except Exception as error:
            call.error = error
            raise
        found = tree_map(self._shortened(name), found)
        call.gives = tuple(x for x in tree_iter(found) if isinstance(x, Tensor))
        for each in call.gives:
            self.makers.setdefault(id(each), call)
        self.kept.append(found)
        return tree_map(self._out, found)

    def _begun(self, name: str, func: Any, args: Any, words: dict[str, Any]) -> Call:
        """Returns the record of a call that is about to run."""
        takes = tuple(x for x in tree_iter((args, words)) if isinstance(x, Tensor))
        layer = self.layers[-1] if self.layers else None
        given: dict[int | str, Any] = dict([*enumerate(args), *words.items()])
        self.table.call += 1
        call = Call(name, func, self.machine.node, layer, takes, given, self.table.call)
        call.shapes = tuple(self.shape(x) for x in takes)
        if len(self.calls) < MOST:
            self.calls.append(call)
        return call

    def _run(self, call: Call, func: Any, args: Any, words: dict[str, Any]) -> Any:
        if call.name in FIRST_NUMBERS and call.takes:
            return call.takes[0]  # no reading needs them
        if call.name in KERNELS:
            with self.fake:
                return kernel(call.name, args)
        if call.name in MAKERS and self._is_shape(call.name, args, words):
            with self.fake:
                return func(*args, **words)
        return func(*args, **words)

    def _is_shape(self, name: str, args: Any, words: Any) -> bool:
        """Returns whether an array is made whose numbers do not matter."""
        if not self.symbolic:
            return not self.machine.strict and self._is_written(name)
        return any(isinstance(x, torch.SymInt) for x in tree_iter((args, words)))

    def _is_written(self, name: str) -> bool:
        """Returns whether the text itself calls a function, at the place that is interpreted."""
        function = getattr(self.machine.node, "func", None)
        return name in (getattr(function, "attr", ""), getattr(function, "id", ""))

    def _copied(self, array: Tensor, memo: dict[int, Any]) -> Tensor:
        """Returns a copy of a weight, which has no numbers."""
        if id(array) not in memo:
            made = array.detach().new_empty(array.shape)
            learned = isinstance(array, nn.Parameter)
            memo[id(array)] = nn.Parameter(made, array.requires_grad) if learned else made
        copied: Tensor = memo[id(array)]
        return copied

    def _in(self, value: Any) -> Any:
        if isinstance(value, Real):
            return float(value)
        if isinstance(value, slice):
            return slice(*map(self._in, (value.start, value.stop, value.step)))
        return self.table.to_torch(value) if isinstance(value, Whole) else value

    def _out(self, value: Any) -> Any:
        return self.table.from_torch(value) if isinstance(value, torch.SymInt) else value

    def _sizes(self, found: Any) -> Any:
        """Returns sizes as the source sees them."""
        if isinstance(found, torch.Size):
            return torch.Size(tuple(map(self._out, found)))
        if isinstance(found, tuple):
            return tuple(map(self._out, found))
        return self._out(found)

    def _shortened(self, name: str) -> Callable[[Any], Any]:
        """Returns a function that gives long sizes of an array a symbol of their own."""
        most = SHORT if any(part in name for part in WINDOWS) else LONG

        def shorten(found: Any) -> Any:
            if not self.symbolic or not isinstance(found, Tensor) or found.layout != torch.strided:
                return found
            sizes = [*found.shape]
            for i, size in enumerate(sizes):
                expr = self.table.expr(size)
                if not expr.is_number and not expr.is_Symbol and expr.count_ops() >= most:
                    sizes[i] = self.table.size(self.table.window(expr))
            same = all(a is b for a, b in zip(sizes, found.shape, strict=True))
            return found if same else found.new_empty(tuple(sizes))

        return shorten

    # what is known of arrays ----------------------------------------------------------------------

    def shape(self, array: Tensor) -> tuple[Any, ...]:
        """Returns the sizes of an array as expressions."""
        with torch._C.DisableTorchFunction():
            return tuple(self.table.expr(n) for n in array.shape)

    def values(self, shape: tuple[Any, ...]) -> tuple[int, ...]:
        """Returns the values of sizes."""
        return tuple(self.table.value(n) for n in shape)

    def maker(self, array: Tensor) -> Call | None:
        """Returns the call that made an array; None for an input or a weight."""
        return self.makers.get(id(array))

    # layers ---------------------------------------------------------------------------------------

    def enter(self, module: nn.Module, args: Any) -> None:
        """Notes that a module begins to run."""
        arrays = tuple(x for x in tree_iter(args) if isinstance(x, Tensor))
        self.kept.append(arrays)
        path = self.paths.get(id(module), "")
        self.layers.append(Layer(path, module, arrays))

    def leave(self, module: nn.Module, *_: Any) -> None:
        """Notes that a module has run; what stops within it stays on the list."""
        while self.layers and self.layers.pop().module is not module:
            pass

    @contextmanager
    def running(self, module: nn.Module) -> Iterator[None]:
        """Follows the layers of a module, and takes all arrays as ones without numbers."""
        self.layers.clear()
        for path, part in module.named_modules():
            self.paths.setdefault(id(part), path)
        self.kept.append(module)
        hooks = [part.register_forward_pre_hook(self.enter) for part in module.modules()]
        hooks += [part.register_forward_hook(self.leave) for part in module.modules()]
        before, self.machine.tracing = self.machine.tracing, True
        try:
            with self.fake, torch.no_grad():
                yield
        finally:
            self.machine.tracing = before
            for hook in hooks:
                hook.remove()
