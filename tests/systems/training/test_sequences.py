"""Sequences made up from the seed: they keep their rules, and each answer is what it should be."""

import pytest
import torch

from ncd.systems.catalogue import CATALOGUE
from ncd.systems.training import task_data
from ncd.systems.training.sequence_data import CELLS, NOT_ASKED, SEQUENCES, share
from ncd.systems.training.training_loop import TaskTraining

SIZES = {
    "reversal": (12, 12),
    "recall": (24, 16),
    "induction": (24, 26),
    "brackets": (24, 6),
    "proofreader": (24, 78),
    "gpt-2": (64, 256),
    "llama": (64, 256),
}
# In a running text the answer is the next word.
CAUSAL = [name for name, own in SEQUENCES.items() if own.causal and not own.running_text]


def made(name: str, n: int = 100) -> list[str]:
    """Sequences as they are read."""
    t, v = SIZES[name]
    tokens = SEQUENCES[name].make(n, t, v, torch.Generator().manual_seed(3))
    assert tokens.shape == (n, t) and int(tokens.min()) >= 0 and int(tokens.max()) < v
    symbols = SEQUENCES[name].symbols(v)
    assert len(set(symbols)) == v
    return ["".join(symbols[i] for i in row) for row in tokens.tolist()]


def answered(name: str, read: str) -> str:
    """The answers to a sequence, a dot where none is due."""
    symbols = SEQUENCES[name].symbols(SIZES[name][1])
    tokens = torch.tensor([[symbols.index(one) for one in read]])
    (said,) = SEQUENCES[name].answers(tokens).tolist()
    return "".join("·" if i == NOT_ASKED else symbols[i] for i in said)


def test_reversal_is_the_sequence_backwards():
    for read in made("reversal"):
        assert answered("reversal", read) == read[::-1]


def test_a_key_has_one_value_and_is_asked_for_when_it_comes_again():
    for read in made("recall"):
        known: dict[str, str] = {}
        wanted = ""
        for key, value in zip(read[::2], read[1::2], strict=True):
            assert key.isalpha() and value.isdigit() and known.get(key, value) == value
            wanted += known.get(key, "·") + "·"
            known[key] = value
        assert answered("recall", read) == wanted


def test_a_word_comes_again_and_its_length_varies():
    lengths = set()
    for read in made("induction"):
        first = min(i for i, one in enumerate(read) if one in read[:i])
        word = read[read.index(read[first]) : first]
        start = first - len(word)
        lengths.add(len(word))
        assert len(set(read[:first])) == first and len(read) >= start + 2 * len(word)
        assert read[start:] == (word * 12)[: len(read) - start]
        assert answered("induction", read) == "·" * first + (word * 12)[: len(read) - first + 1][1:]
    assert lengths == {*range(4, 13)}


def test_brackets_close_the_innermost():
    deepest = 0
    for read in made("brackets"):
        stack: list[str] = []
        wanted = ""
        for one in read:
            if one in "([{":
                stack.append(")]}"["([{".index(one)])
            else:
                assert stack.pop() == one
            deepest = max(deepest, len(stack))
            wanted += stack[-1] if stack else "·"
        assert answered("brackets", read) == wanted
    assert deepest == 4


@pytest.mark.parametrize(
    ("name", "read", "said"),
    [
        ("brackets", ")(]}([", "·)··)]"),
        ("recall", "a1b2a1b", "····1·2"),
        ("recall", "aaaaaaa", "··a·a·a"),
        ("induction", "abcabxab", "···bc·bx"),
    ],
)
def test_what_a_visitor_may_type(name, read, said):
    """A bracket that closes nothing counts for nothing; the latest of several is meant."""
    assert answered(name, read) == said


@pytest.mark.parametrize("name", CAUSAL)
def test_what_comes_later_changes_no_answer(name):
    own, (t, v) = SEQUENCES[name], SIZES[name]
    random = torch.Generator().manual_seed(0)
    tokens = own.make(50, t, v, random)
    other = torch.cat((tokens[:, :9], own.make(50, t, v, random)[:, 9:]), 1)
    assert own.answers(tokens)[:, :9].equal(own.answers(other)[:, :9])


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("t", [1, 2, 3, 300])
def test_any_length_can_be_learned_from(name, t, monkeypatch):
    monkeypatch.setattr(task_data, "READ", 100)
    monkeypatch.setattr(task_data, "UNREAD", 20)
    least = {knob.name: knob.bounds[0] for knob in CATALOGUE[name].knobs if knob.name in "nv"}
    fit = TaskTraining(name, {**least, "k": 4, "t": t}, steps=1)
    (now,) = fit
    assert now.loss >= 0 and now.score is not None and 0 <= now.score <= 1


def test_cells_are_the_same_for_each_sequence_of_many():
    tokens = torch.randint(0, 4, (2, 3, 7), generator=torch.Generator().manual_seed(0))
    every = {**CELLS, **{k: c for own in SEQUENCES.values() for k, c in own.kinds.items()}}
    for cells in every.values():
        found = cells(tokens)
        assert found.shape == (2, 3, 7, 7) and found.dtype == torch.bool
        assert found[1, 2].equal(cells(tokens[1, 2]))


def test_a_share_is_taken_of_the_rows_that_have_any():
    weights = torch.full((2, 4, 4), 0.25)  # of two heads
    cells = torch.zeros(4, 4, dtype=torch.bool)
    assert share(weights, cells) == 0
    cells[1, 0] = cells[1, 2] = cells[3, 3] = True
    assert share(weights, cells) == (0.5 + 0.25) / 2
