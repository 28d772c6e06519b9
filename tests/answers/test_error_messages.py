"""The messages that torch itself gives are explained: what the numbers are, what to look for."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ncd
from ncd.answers.error_messages import CURE, MESSAGES, explain, first_words
from ncd.app.scene.own_entry import reading
from ncd.errors import NCDError
from ncd.read.configs.config_reader import read_config
from ncd.read.python_source.source_reader import read_source
from ncd.read.recognise import read_any

R, L = torch.randn, torch.long
Failing = Callable[[], object]


def _in_place() -> None:
    x = R(3, 4, requires_grad=True).exp()
    y = x.relu()
    y += 1
    (y.sigmoid() * x).sum().backward()
    z = R(3, 4, requires_grad=True).sigmoid()
    z += 1
    z.sum().backward()


def _load(own: nn.Module, other: nn.Module) -> None:
    own.load_state_dict(other.state_dict())


def _attended(mask: torch.Tensor | None, padding: torch.Tensor | None = None) -> None:
    x = R(2, 5, 8)
    nn.MultiheadAttention(8, 2)(x, x, x, key_padding_mask=padding, attn_mask=mask)


class _Late(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(2, 2)


CASES: dict[str, tuple[Failing, str]] = {
    "matmul": (lambda: nn.Linear(400, 120)(R(64, 9216)), "nn.Linear(9216, 120)"),
    "flatten": (lambda: nn.Linear(400, 120)(R(2, 16, 5, 5)), "flatten(1) before it"),
    "transposed": (lambda: nn.Linear(7, 2)(R(7, 3)), "transposed"),
    "channels": (lambda: nn.Conv2d(3, 8, 3)(R(1, 1, 9, 9)), "takes 3 channels"),
    "no batch": (lambda: nn.Conv2d(3, 8, 3)(R(9, 9)), "x.unsqueeze(0)"),
    "norm kind": (lambda: nn.BatchNorm2d(3)(R(2, 3)), "BatchNorm1d after a linear layer"),
    "one value": (lambda: nn.BatchNorm1d(3)(R(1, 3)), "model.eval()"),
    "norm width": (lambda: nn.BatchNorm2d(3)(R(2, 4, 5, 5)), "made for 3 channels"),
    "layer norm": (lambda: nn.LayerNorm(8)(R(2, 9)), "its input is [2, 9]"),
    "group norm": (lambda: nn.GroupNorm(4, 6), "num_channels is a multiple"),
    "groups": (lambda: nn.Conv2d(6, 8, 3, groups=4), "in_channels is a multiple"),
    "heads": (lambda: nn.MultiheadAttention(10, 3), "divides the width"),
    "kernel": (lambda: nn.Conv2d(3, 8, 5)(R(1, 3, 2, 2)), "only 2 x 2 at that point"),
    "pooling": (lambda: nn.MaxPool2d(2)(R(1, 3, 1, 1)), "AdaptiveAvgPool2d(1)"),
    "reflection": (lambda: F.pad(R(1, 1, 3), (4, 4), "reflect"), "longer than the padding"),
    "recurrent": (lambda: nn.LSTM(8, 4)(R(3, 2, 9)), "which is to be 9"),
    "state": (lambda: nn.GRU(8, 4)(R(3, 2, 8), R(1, 3, 4)), "its batch stands second"),
    "embedding width": (lambda: nn.MultiheadAttention(8, 2)(*[R(2, 3, 9)] * 3), "features"),
    "mask": (lambda: _attended(torch.ones(5, 5)), "queries × keys"),
    "padding mask": (lambda: _attended(None, torch.ones(2, 5) > 0), "batch × keys"),
    "transformer": (lambda: nn.Transformer(8, 2)(R(3, 2, 8), R(3, 5, 8)), "batch_first=True"),
    "view": (lambda: R(2, 3, 4).transpose(1, 2).view(2, 12), ".reshape(…)"),
    "count": (lambda: R(64, 14, 14).view(64, 784), "holds 12,544 numbers"),
    "cat": (lambda: torch.cat((R(1, 3, 64, 9), R(1, 3, 65, 9)), 1), "64 meets 65"),
    "stack": (lambda: torch.stack((R(3, 4), R(3, 5))), "[3, 4] meets [3, 5]"),
    "cat dimensions": (lambda: torch.cat((R(3, 4), R(3))), "missing unsqueeze"),
    "broadcast": (lambda: R(2, 10) + R(2, 32), "one has 10 and the other 32"),
    "expand": (lambda: R(3, 4).expand(5, 4), "is 3 and is to become 5"),
    "grow": (lambda: R(1, 4).add_(R(3, 4)), "x = x + y"),
    "bmm": (lambda: R(2, 3, 4) @ R(2, 5, 4), "transpose(-2, -1)"),
    "bmm heads": (lambda: torch.bmm(R(2, 3, 4), R(2, 5, 4)), "transpose(-2, -1)"),
    "einsum": (lambda: torch.einsum("ij,jk->ik", R(2, 3), R(4, 5)), "The letter j"),
    "dimension": (lambda: R(2, 3).softmax(2), "-2 to 1, and 2 is asked for"),
    "permute": (lambda: R(2, 3, 4).permute(0, 3, 1, 2), "names 4, but the array has 3"),
    "split": (lambda: R(2, 8).split([3, 3], 1), "add up to 8"),
    "unpack": (lambda: (lambda a, b: a)(*[x for (x,) in [R(2, 3).shape]]), "Only 1 names"),
    "top": (lambda: R(3).topk(5), "at most that size"),
    "class": (lambda: F.one_hot(torch.tensor([5]), 3), "0 to num_classes - 1"),
    "no class": (lambda: F.one_hot(torch.tensor([-1])), "mean no class"),
    "index": (lambda: nn.Embedding(5, 2)(torch.tensor([5])), "0 to num_embeddings - 1"),
    "target": (lambda: F.cross_entropy(R(2, 3), torch.tensor([0, 3])), "a target is 3"),
    "target batch": (
        lambda: F.cross_entropy(R(4, 3), torch.zeros(2, dtype=L)),
        "scores for 4 examples, and targets for 2",
    ),
    "target kind": (lambda: F.cross_entropy(R(2, 3), torch.zeros(2, 1, dtype=L)), "squeeze(1)"),
    "target size": (
        lambda: F.cross_entropy(R(2, 3, 5), torch.zeros(2, 3, dtype=L)),
        "scores.transpose(1, 2)",
    ),
    "target pairs": (
        lambda: F.binary_cross_entropy_with_logits(R(4, 1), R(4)),
        "output is [4, 1] and the target [4]",
    ),
    "probabilities": (lambda: F.binary_cross_entropy(R(4) + 9, torch.ones(4)), "sigmoid"),
    "double": (lambda: nn.Linear(3, 2)(R(2, 3).double()), "(x.float())"),
    "double picture": (lambda: nn.Conv2d(1, 2, 1)(R(1, 1, 2, 2).double()), "(x.float())"),
    "real indices": (lambda: nn.Embedding(5, 2)(R(3)), "x.long()"),
    "real targets": (lambda: F.nll_loss(R(2, 3), R(2)), ".long()"),
    "cast": (lambda: torch.ones(2, dtype=L).add_(0.5), "in place"),
    "whole": (lambda: torch.arange(3).softmax(0), ".float()"),
    "single": (lambda: float(R(3)), ".mean()"),
    "in place": (_in_place, "changed in place"),
    "leaf": (lambda: R(3, requires_grad=True).add_(1), "torch.no_grad()"),
    "twice": (
        lambda: [y.backward() for y in [R(3, requires_grad=True).exp().sum()] * 2],
        "h = h.detach()",
    ),
    "no gradient": (lambda: R(3).sum().backward(), ".detach(), argmax"),
    "not scalar": (lambda: R(3, requires_grad=True).backward(), "loss.mean()"),
    "no parameters": (lambda: torch.optim.SGD([]), "nn.ModuleList"),
    "super": (_Late, "super().__init__()"),
    "no forward": (lambda: nn.Module()(R(2)), "indentation"),
    "missing input": (lambda: nn.Bilinear(2, 2, 2)(R(2)), "lacks 1 of the inputs"),
    "more inputs": (lambda: nn.Linear(2, 2)(R(2), R(2)), "self included"),
    "tuple": (lambda: nn.LSTM(2, 2)(R(2, 2)).shape, "out, state = layer(x)"),
    "missing key": (lambda: _load(nn.Linear(2, 2), nn.Linear(2, 2, bias=False)), "has bias"),
    "unexpected key": (lambda: _load(nn.Linear(2, 2, bias=False), nn.Linear(2, 2)), "holds bias"),
    "both keys": (
        lambda: _load(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))),
        "looks for weight, and the file holds 0.weight",
    ),
    "other sizes": (lambda: _load(nn.Linear(2, 5), nn.Linear(2, 7)), "model has it as [5, 2]"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_torch_raises_is_explained(name: str) -> None:
    run, words = CASES[name]
    with pytest.raises(Exception) as error:
        run()
    line = f"{type(error.value).__name__}: {error.value}"
    said = explain(line)
    assert said is not None, line
    assert words in said and said.endswith(f"Try {CURE}.")
    assert "Look for" in said
    assert "  " not in said and "{" not in said, said
    assert len(said) <= 400
    assert explain(str(error.value)) == said  # the message alone


def test_a_traceback_names_the_line_of_the_visitor_s_own_code() -> None:
    layer = nn.Linear(400, 120)
    try:
        layer(R(64, 9216))
    except RuntimeError:
        said = explain(traceback.format_exc())
    assert said is not None
    assert said.startswith(
        "The layer takes 400 numbers and gives 120, but each of its 64 rows holds 9,216. Look for "
        "nn.Linear(400, 120): either it becomes nn.Linear(9216, 120), or what stands before it has "
        "other sizes than was thought (9,216 = 16·24·24, 400 = 16·5·5). It stops at line "
    )
    assert ": layer(R(64, 9216))." in said


@pytest.mark.parametrize("text", ["", "nn.Linear(8, 3)", "b i d, b j d -> b i j", "ValueError: x"])
def test_other_texts_have_no_explanation(text: str) -> None:
    assert explain(text) is None


def test_a_long_hostile_message_is_looked_through_quickly() -> None:
    text = 'Missing key(s) in state_dict: "a" ' * 100_000
    assert explain(text) is not None


def test_the_page_explains_a_message_in_place_of_a_diagram() -> None:
    from ncd.errors import NCDError

    message = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x9216 and 400x120)"
    for text in (message, message.partition(": ")[2]):
        with pytest.raises(NCDError) as error:
            reading(text)
        assert str(error.value) == explain(text)


def test_what_is_meant_and_what_to_look_for_are_two_parts() -> None:
    for _, fact, search in MESSAGES:
        assert fact.endswith(".") and search.startswith("Look for ") and search.endswith(".")
    message = "forward() missing 1 required positional argument: 'a Look for b'"
    said = "The call of the model lacks 1 of the inputs that forward takes: 'a Look for b'."
    assert first_words(message) == said
    assert str(explain(message)).startswith(f"{said} Look for the call, ")


def test_no_size_of_a_message_is_cut() -> None:
    long = "9" * 40
    assert explain(f"mat1 and mat2 shapes cannot be multiplied ({long}x9 and 400x120)") is None


NINES = "9" * 5000
LONG_NUMBERS = (
    lambda: read_source(f"nn.Linear({NINES}, 3)(torch.randn(2, 8))"),
    lambda: read_any(f'Linear("m:{NINES} -> k:2", "W") >> Id({NINES})'),
    lambda: read_config(f'{{"model_type": "llama", "hidden_size": {NINES}}}'),
    lambda: ncd.from_json(f'{{"term": "Id", "type": {NINES}}}'),
)


def test_a_number_of_thousands_of_digits_is_refused_in_plain_words() -> None:
    for read in LONG_NUMBERS:
        with pytest.raises(NCDError, match="5,000 digits") as raised:
            read()
        assert "sys." not in str(raised.value)
