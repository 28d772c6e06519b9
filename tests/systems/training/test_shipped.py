"""The weights that ship: they are what the command gives, fit the defaults, and have learned."""

from pathlib import Path

import pytest
import torch

import ncd
from ncd.__main__ import main
from ncd.installation import package_path
from ncd.systems.inputs.run_inputs import opening_inputs
from ncd.systems.training import sequence_data
from ncd.systems.training.head_analysis import run
from ncd.systems.training.sequence_data import SEQUENCES, STORY_MODELS, share
from ncd.systems.training.tasks import TASKS, data, task
from ncd.systems.training.trained_weights import read_note, read_weights, shipped_file
from ncd.systems.training.training_loop import TaskTraining, answer_unseen


@pytest.fixture(autouse=True)
def threads():
    """The command sets them for its whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


# the least share of right answers, and of weight on the right cell in the head that does best
LEARNED = {
    "reversal": (1.0, 0.95),
    "recall": (0.99, 0.95),
    "induction": (0.99, 0.9),
    "brackets": (0.99, 0.5),
    "proofreader": (0.98, 0.25),
}


@pytest.mark.parametrize("name", LEARNED)
def test_what_ships_answers_right_and_looks_at_the_right_cell(name):
    entry, own = ncd.catalogue[name], task(name)
    settings = entry.settings({})
    file = shipped_file(entry, settings)
    assert file is not None and len(file) < 250_000
    assert read_note(file) == {
        "system": name,
        "seed": "3" if name == "proofreader" else "0",
        "steps": str(own.steps),
    }
    module = read_weights(ncd.compile(entry.build()), file)
    found = data(own, settings, seed=0)
    maps: dict = {}
    right = own.score(run(module, found.unseen, maps=maps), found.answers)
    cells = SEQUENCES[name].looks(found.unseen)
    least, weight = LEARNED[name]
    assert right >= least
    assert max(share(own, cells) for own in maps.values()) > weight


@pytest.mark.parametrize("name", STORY_MODELS)
def test_a_language_model_that_ships_guesses_most_words_of_unseen_stories(name):
    """Its perplexity stands on its page (``tests/systems/lessons/page_claims.py``)."""
    entry, own = ncd.catalogue[name], task(name)
    settings = {**entry.settings({}), **own.training_sizes}
    file = shipped_file(entry, settings)
    assert file is not None and len(file) < 500_000
    assert read_note(file) == {"system": name, "seed": "0", "steps": str(own.steps)}
    module = read_weights(ncd.compile(entry.build(**settings)), file)
    found, right = answer_unseen(own, settings, module, data(own, settings, seed=0), count=64)
    assert own.score(found, right) >= 0.75
    assert torch.equal(right[:, :-1], data(own, settings, seed=0).unseen[:64, 1:])


@pytest.mark.parametrize(("attend", "right"), [(1, 0.99), (0, 0.018)])
def test_a_decoder_that_looks_back_writes_nearly_all_dates_right(attend: int, right: float):
    """Trained as long, on the same dates."""
    entry, own = ncd.catalogue["seq2seq-attention"], task("seq2seq-attention")
    settings = entry.settings({"attend": attend})
    file = shipped_file(entry, settings)
    assert file == shipped_file(entry, {**settings, "s": 9, "t": 3})  # as these change no weight
    assert file is not None and len(file) < 70_000
    assert read_note(file) == {"system": entry.name, "seed": "0", "steps": str(own.steps)}
    module = read_weights(ncd.compile(entry.build(attend=attend)), file)
    found, wanted = answer_unseen(own, settings, module, data(own, settings, seed=0))
    assert own.score(found, wanted) == pytest.approx(right, abs=0.01)


# the least score of the systems of pictures on 64 pictures that they have not learned from, and the
# most bytes of their files
SCORES = {
    "lenet": (0.85, 500_000),
    "image-recogniser": (0.9, 500_000),
    "unet": (0.8, 2_000_000),
    "vae": (0.35, 500_000),
    "diffusion-unet": (0.85, 500_000),
    "clip": (0.93, 100_000),
}


@pytest.mark.parametrize("name", SCORES)
def test_what_ships_for_pictures_does_well_on_unseen_ones(name):
    """A training at the defaults gives the same file, so it ends at the same score."""
    entry, own = ncd.catalogue[name], task(name)
    settings = {**entry.settings({}), **own.training_sizes}
    least, bytes = SCORES[name]
    file = shipped_file(entry, settings)
    assert file is not None and len(file) < bytes
    seed = "2" if name == "clip" else "0"
    assert read_note(file) == {"system": name, "seed": seed, "steps": str(own.steps)}
    module = read_weights(ncd.compile(entry.build(**settings)), file).eval()
    found, right = answer_unseen(own, settings, module, data(own, settings, seed=0), count=64)
    assert own.score(found, right) >= least


def test_what_ships_for_clip_finds_the_sentence_of_every_sample() -> None:
    """Also of digits as they are drawn here, which it has never seen."""
    entry = ncd.catalogue["clip"]
    term = entry.build(i=10, j=10)
    file = shipped_file(entry, entry.settings({"i": 10, "j": 10}))
    assert file is not None
    module = read_weights(ncd.compile(term), file)
    with torch.no_grad():
        scores = module(*opening_inputs(entry, term).tensors(term, 0, "cpu"))
    assert scores.argmax(1).tolist() == [*range(10)]
    assert scores.argmax(0).tolist() == [*range(10)]


@pytest.mark.parametrize(
    ("b", "evaluation", "share"), [(3, False, 0.98), (2, False, 0.91), (3, True, 0.99)]
)
def test_a_resnet_reads_as_its_page_says(b, evaluation, share):
    """With the statistics of as many as it learned from, of fewer, or torch's averages."""
    entry, own = ncd.catalogue["identity-resnet"], task("identity-resnet")
    settings = entry.settings({"b": b})
    file = shipped_file(entry, settings)
    assert file == shipped_file(entry, entry.settings({})) and len(file) < 500_000
    assert read_note(file) == {"system": "identity-resnet", "seed": "0", "steps": str(own.steps)}
    module = read_weights(ncd.compile(entry.build(**settings)), file).train(not evaluation)
    found, right = answer_unseen(own, settings, module, data(own, settings, seed=0))
    assert len(right) == 299 // b * b and own.score(found, right) == pytest.approx(share, abs=0.01)


def test_one_layer_that_was_trained_alike_stalls():
    entry = ncd.catalogue["induction"]
    settings = entry.settings({"n": 1})
    module = read_weights(ncd.compile(entry.build(n=1)), shipped_file(entry, settings))
    found = data(task("induction"), settings, seed=0)
    with torch.no_grad():
        assert task("induction").score(module(found.unseen), found.answers) < 0.4


def test_words_of_one_length_are_learned_by_one_layer(monkeypatch):
    """So it is their varied length that takes two."""
    monkeypatch.setattr(sequence_data, "SHORTEST", 12)  # the longest, too: half of the positions
    *_, last = TaskTraining("induction", {"n": 1}, seed=0, steps=200)
    assert last.score > 0.95


def test_other_sizes_have_none():
    entry = ncd.catalogue["recall"]
    assert shipped_file(entry, entry.settings({})) is not None
    for other in ({"n": 1}, {"t": 23}, {"k": 16}, {"v": 14}, {"h": 2}):
        assert shipped_file(entry, entry.settings(other)) is None
    resnet = ncd.catalogue["identity-resnet"]
    assert shipped_file(resnet, resnet.settings({"b": 2, "N": 2})) is None
    files = package_path("assets/weights").iterdir()
    assert all(f"{path.stem}-".startswith(tuple(f"{name}-" for name in TASKS)) for path in files)


def test_the_same_seed_gives_the_same_file(tmp_path: Path):
    """However often it is written: what is unordered in a file would come in another order."""

    def made(seed: str) -> bytes:
        file = tmp_path / "w.safetensors"
        argv = ["train", "reversal", "--seed", seed, "--steps", "5", "-o", str(file)]
        assert main(argv) == 0
        return file.read_bytes()

    once = made("0")
    assert all(made("0") == once for _ in range(5)) and made("5") != once
