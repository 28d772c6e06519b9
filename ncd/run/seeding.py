"""Weights and inputs from a seed, never from torch's global state, which threads share."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Lock

import torch
from cachetools import LRUCache
from torch import Tensor, nn

from ncd.circuit.elaborate import elaborate
from ncd.formulas.formula import Formula, Name, Number, Operand
from ncd.language.arguments import check_seed, check_term
from ncd.language.axes import Array
from ncd.language.cached_property import HashedKey
from ncd.language.op import InitialValue
from ncd.language.terms import Term
from ncd.run.device import device as find_device
from ncd.run.evaluate import formula_value
from ncd.run.limits import Limits, check_input_memory


def generator(seed: int, purpose: str) -> torch.Generator:
    """Returns a generator of its own for each purpose, so that draws are independent.

    Numbers are drawn on the CPU, so that every device gets the same.

    >>> torch.rand(1, generator=generator(0, "Q")) == torch.rand(1, generator=generator(0, "Q"))
    tensor([True])
    """
    check_seed(seed)
    digest = hashlib.sha256(f"{seed}/{purpose}".encode(errors="backslashreplace")).digest()
    return torch.Generator("cpu").manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def example_inputs(
    term: Term,
    seed: int = 0,
    device: str | torch.device = "cpu",
    limits: Limits | None = None,
) -> tuple[Tensor, ...]:
    """Returns a random tensor for each array of a term's domain.

    Args:
        term: The system; all axes of its inputs need sizes.
        seed: The seed of the numbers; torch's global state is not used.
        device: The device of the tensors.
        limits: The memory allowed; by default that of the environment.

    Returns:
        Standard normal numbers, or whole numbers below an array's bound (``y#v``).

    Raises:
        LimitError: If the inputs alone exceed the limits.
        SizeError: If an axis has no size.
        ParseError: For a seed or limits of another kind.

    Source: the notebook's examples, which use ``torch.rand``.

    >>> from ncd import Id
    >>> [tuple(x.shape) for x in example_inputs(Id("y:2 m:3, x:4 m:3"))]
    [(2, 3), (4, 3)]
    >>> [int(x.max()) < 5 for x in example_inputs(Id("y:100#v:5"))]
    [True]
    """
    check_term(term, "example_inputs")
    check_seed(seed, "example_inputs")
    target = find_device(device)
    check_input_memory(term, limits)
    return tuple(
        _random_input(value.array, generator(seed, f"input {i}")).to(target)
        for i, value in enumerate(elaborate(term).inputs)
    )


def _random_input(array: Array, random: torch.Generator) -> Tensor:
    if array.below is None:
        return torch.randn(array.shape, generator=random)
    return torch.randint(array.below.numel, array.shape, generator=random)


class SeededDropout(nn.Dropout):
    """Dropout with a generator of its own that draws what ``nn.Dropout`` draws from the same state.

    Numbers are drawn on the CPU, so that every device drops the same. Under ``torch.compile`` and
    ``torch.export``, which cannot hold a generator, it is torch's own dropout.
    """

    def __init__(self, p: float, random: torch.Generator) -> None:
        super().__init__(p)
        self.random = random

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or self.p == 0 or torch.compiler.is_compiling():
            return super().forward(input)
        kept = torch.empty(input.shape, dtype=input.dtype)
        kept.bernoulli_(1 - self.p, generator=self.random).div_(1 - self.p)
        return input * kept.to(input.device)

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "random": self.random.get_state()}

    def __setstate__(self, state: dict[str, object]) -> None:
        random = torch.Generator("cpu")
        random.set_state(state["random"])  # type: ignore[arg-type]
        super().__setstate__({**state, "random": random})


def same_draws(
    module: nn.Module,
) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Returns the contexts of a run and of its repetition, in which dropout drops the same."""
    random = [part.random for part in module.modules() if isinstance(part, SeededDropout)]
    before = [one.get_state() for one in random]
    return nullcontext(), _temporary_states(random, before)


@contextmanager
def _temporary_states(random: list[torch.Generator], states: list[Tensor]) -> Iterator[None]:
    """Sets generators to other states for a while."""
    later = [one.get_state() for one in random]
    for one, state in zip(random, states, strict=True):
        one.set_state(state)
    yield
    for one, state in zip(random, later, strict=True):
        one.set_state(state)


# --- initial values ------------------------------------------------------------------------------


# The last numbers drawn: a slider changes the shapes of few weights, and drawing takes longest.
_RECENT_NUMBERS: LRUCache[HashedKey, Tensor] = LRUCache(
    150_000_000, getsizeof=lambda x: x.nbytes + 1_000
)
_LOCK = Lock()


def fill_initial(
    tensor: Tensor, initial: InitialValue, seed: int, purpose: str, shared: bool = False
) -> None:
    """Fills a parameter or a buffer by its formula, or with its own numbers.

    A ``shared`` parameter, which nobody may modify, takes the numbers that were drawn last.
    """
    if initial.numbers:
        written = torch.tensor(initial.numbers, dtype=torch.float64)
        tensor.copy_(written.reshape(tensor.shape))
        return
    key = HashedKey(initial.array, initial.formula, seed, purpose, torch.get_default_dtype())
    with _LOCK:
        value = _RECENT_NUMBERS.get(key)
    if value is None:
        value = _FormulaValues(initial.array, generator(seed, purpose)).value(initial.formula)
        if type(value) is Tensor and value.is_cpu:  # and not one without data
            with _LOCK, suppress(ValueError):  # it may be too large
                _RECENT_NUMBERS[key] = value
    if shared and value.shape == tensor.shape and value.dtype == tensor.dtype:
        tensor.data = value
        return
    with torch.no_grad():
        tensor.copy_(value.expand(initial.array.shape).reshape(tensor.shape))


class _FormulaValues:
    """The values of a formula of initial values, at every position at once."""

    def __init__(self, array: Array, random: torch.Generator) -> None:
        self.array, self.random = array, random
        self.axes = {axis.identifier: axis for axis in array}

    def value(self, formula: Formula) -> Tensor:
        found: Tensor = formula_value(formula, self.leaf, is_fresh=True)  # needs no array more
        return found

    def leaf(self, formula: Number | Operand | Name) -> Tensor:
        if isinstance(formula, Number):
            return torch.tensor(formula.value, dtype=torch.float64)
        assert isinstance(formula, Name)  # there are no operands in an initial value
        return self.named_value(formula.text)

    def named_value(self, name: str) -> Tensor:
        if name in self.axes:
            at = list(self.axes).index(name)
            shape, rest = self.array[at].shape, Array(self.array[at + 1 :]).shape
            numbers = torch.arange(math.prod(shape), dtype=torch.float32)
            return numbers.view(*shape, *(1,) * len(rest))
        if name == "normal":
            return torch.randn(self.array.shape, generator=self.random)
        if name == "uniform":
            return torch.empty(self.array.shape).uniform_(-1, 1, generator=self.random)
        size = name.startswith("n_") and self.axes.get(name[2:])
        number = float(size.numel) if size else _CONSTANTS[name]
        return torch.tensor(number, dtype=torch.float64)


_CONSTANTS = {"e": math.e, "pi": math.pi, "inf": math.inf}
