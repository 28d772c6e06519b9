"""Expressions of torch code as functions: what runs once, and what has a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ncd.language import torch_code as ex
from ncd.run.evaluate import TensorOptions, compile_exprs, over_batches

LIKE = TensorOptions(torch.device("cpu"), torch.float32)
X = torch.tensor([3.0, 1.0, 2.0])


class Counted(TorchFunctionMode):
    """Counts the calls of a function of torch."""

    def __init__(self, function: object) -> None:
        super().__init__()
        self.function, self.count = function, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is self.function
        return func(*args, **(kwargs or {}))


def test_a_call_whose_items_are_all_used_runs_once() -> None:
    one, two = (ex.call("torch.topk", ex.Arg(0), count) for count in (1, 2))
    both = compile_exprs((ex.Item(two, 0), ex.Item(two, 1)), (1,))
    with Counted(torch.topk) as counted:
        values, places = both([X], None, LIKE)
    assert (values.tolist(), places.tolist(), counted.count) == ([3, 2], [0, 2], 1)
    apart = compile_exprs((ex.Item(two, 0), ex.Item(one, 1)), (1,))
    with Counted(torch.topk) as counted:
        values, places = apart([X], None, LIKE)
    assert (values.tolist(), places.tolist(), counted.count) == ([3, 2], [0], 2)


def test_axes_in_front_are_a_batch_of_those_that_have_them() -> None:
    def product(args: Any, own: Any, like: Any) -> torch.Tensor:
        a, b = args
        assert (a.ndim, b.ndim) == (1, 2)
        return a @ b

    a, b, run = torch.randn(5, 4, 2), torch.randn(4, 2, 3), over_batches(product, (1, 2))
    torch.testing.assert_close(run((a, b), None, LIKE), torch.einsum("xyi,yij->xyj", a, b))
    torch.testing.assert_close(run((a, b[0]), None, LIKE), a @ b[0])
    torch.testing.assert_close(run((a[0, 0], b), None, LIKE), a[0, 0] @ b)
    torch.testing.assert_close(run((a[0, 0], b[0]), None, LIKE), a[0, 0] @ b[0])
