"""What heads look at, on maps that are made by hand and on the weights that are shipped."""

import pytest
import torch
from torch import Tensor

import ncd
from ncd.installation import package_path
from ncd.systems.training.head_analysis import HeadReport, kinds, shares, skill, with_heads_off
from ncd.systems.training.sequence_data import SEQUENCES
from ncd.systems.training.tasks import data, task
from ncd.systems.training.trained_weights import read_weights

TRIED = 64


def at(size: int, *cells: tuple[int, int]) -> Tensor:
    """A map with all the weight of some rows on one cell each."""
    found = torch.zeros(size, size)
    for row, column in cells:
        found[row, column] = 1
    return found


def test_a_map_made_for_a_kind_has_all_its_weight_there() -> None:
    tokens = torch.tensor([3, 1, 2, 3, 1])
    mirror = at(5, *((i, 4 - i) for i in range(5)))
    before = at(5, *((i, max(0, i - 1)) for i in range(5)))
    induction = at(5, (3, 1), (4, 2))  # behind the first 3 stands 1, behind the first 1 stands 2
    assert shares(mirror, tokens, kinds(SEQUENCES["reversal"]))["mirror"] == 1
    assert shares(before, tokens)["previous token"] == 1
    assert shares(induction, tokens)["after the same token"] == 1
    assert shares(at(5, (3, 0), (4, 1)), tokens)["same token"] == 1
    assert shares(mirror, tokens)["previous token"] < 0.5


def test_a_kind_that_no_row_has_is_left_out() -> None:
    found = shares(torch.eye(3), torch.tensor([0, 1, 2]))
    assert "same token" not in found and "after the same token" not in found
    assert found["itself"] == 1


def test_a_task_knows_the_kinds_that_may_occur_in_it() -> None:
    assert "mirror" in kinds(SEQUENCES["reversal"]) and "mirror" not in kinds(SEQUENCES["recall"])
    assert [name for name in SEQUENCES if "open bracket" in kinds(SEQUENCES[name])] == ["brackets"]
    assert [name for name in SEQUENCES if "the answer" in kinds(SEQUENCES[name])] == ["recall"]


class Shipped:
    """A system with the weights that are shipped, on some unseen sequences."""

    def __init__(self, name: str) -> None:
        entry = ncd.catalogue[name]
        self.task = task(name)
        self.module = ncd.compile(entry.build())
        read_weights(self.module, package_path(f"assets/weights/{name}.safetensors").read_bytes())
        given = data(self.task, entry.settings({}), seed=1)
        self.tokens, self.answers = given.unseen[:TRIED], given.answers[:TRIED]

    def skill(self) -> HeadReport:
        return skill(self.module, self.task, self.tokens, self.answers)


@pytest.mark.parametrize(
    ("name", "does", "least"),
    [
        ("reversal", ["mirror"], [0.9]),
        ("recall", ["previous token", "the answer"], [0.4, 0.9]),
        ("induction", ["previous token", "after the same token"], [0.5, 0.9]),
        ("brackets", [None, "open bracket"], [0.0, 0.5]),
        (
            "proofreader",
            ["surname said before", "opening quote", "thing meant", "person meant"],
            [0.5] * 4,
        ),
    ],
)
def test_heads_look_where_they_are_said_to_and_without_any_it_is_worse(
    name: str, does: list[str | None], least: list[float]
) -> None:
    found = Shipped(name).skill()
    assert found.full_score > (0.96 if name == "proofreader" else 0.98)
    heads = list(found.attention_shares)
    for head, what, share in zip(heads, does, least, strict=True):
        if what is not None:
            assert found.does(head)[0] == what and found.does(head)[1] > share
        assert found.scores_without_head[head] < found.full_score - 0.05


def test_an_induction_head_is_nothing_without_the_one_before() -> None:
    """The second layer finds its place by what the first has written there."""
    own = Shipped("induction")
    whole = own.skill()
    first, second = whole.attention_shares
    less = with_heads_off(whole, own.module, own.task, own.tokens, own.answers, [first])
    assert whole.attention_shares[second]["after the same token"] > 0.9
    assert less.attention_shares[second]["after the same token"] < 0.3
    assert (
        less.current_score
        == whole.scores_without_head[first]
        < 0.5
        < less.full_score
        == whole.full_score
    )
