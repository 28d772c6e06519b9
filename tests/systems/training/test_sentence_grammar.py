"""Sentences with mistakes: they keep the grammar, and each right word is what it should be."""

from hashlib import sha256

import pytest
import torch

import ncd
from ncd.systems.training.head_analysis import run
from ncd.systems.training.sequence_data import (
    ARE,
    IS,
    MEN,
    NOT_ASKED,
    NUMBER,
    PLURAL,
    PREPOSITIONS,
    PROOFREADER_WORDS,
    RELATIONS,
    SEQUENCES,
    SINGULAR,
    SURNAMES,
    WOMEN,
    in_doubt,
    readable,
    sentences,
)
from ncd.systems.training.trained_weights import (
    LONGEST,
    PROOFREADER_SIZES,
    attention_weights,
    fits,
    read_weights,
    roles,
    shipped_file,
    word_vectors,
)


def lines(n: int, t: int = 24) -> torch.Tensor:
    return sentences(n, t, len(PROOFREADER_WORDS), torch.Generator().manual_seed(5))


def corrected(text: str) -> str:
    """The right words, and those read where nothing is asked."""
    read = text.split()
    (found,) = SEQUENCES["proofreader"].answers(torch.tensor([[NUMBER[word] for word in read]]))
    said = (
        PROOFREADER_WORDS[i] if i != NOT_ASKED else word
        for i, word in zip(found, read, strict=True)
    )
    return " ".join(said)


@pytest.mark.parametrize(
    ("read", "right"),
    [
        ("The keys by the door is old .", "The keys by the door are old ."),
        ("The key by the boxes are old .", "The key by the boxes is old ."),
        ("The cats sleeps . The dog sing .", "The cats sleep . The dog sings ."),
        ("Tom Hill saw the keys because it fell .", "Tom Hill saw the keys because they fell ."),
        (
            "Tom Hill saw the keys because she wanted the box .",
            "Tom Hill saw the keys because he wanted the box .",
        ),
        ("Anna Park said , ‘ the dog sings ” .", "Anna Park said , ‘ the dog sings ’ ."),
        (
            "Lucy Wood saw the cat , and Mr Hill wanted the cat .",
            "Lucy Wood saw the cat , and Mrs Wood wanted the cat .",
        ),
        ("is it old ” he Mr Hill", "is it old ” he Mr Hill"),
        (
            "Tom Hill saw the cat . Anna Wood saw the dog because he wanted the cat .",
            "Tom Hill saw the cat . Anna Wood saw the dog because she wanted the cat .",
        ),
    ],
)
def test_the_right_word_agrees_with_what_it_belongs_to(read: str, right: str) -> None:
    assert corrected(read) == right


def test_the_subject_is_the_last_noun_that_is_not_behind_a_preposition() -> None:
    """Stated again over the words one by one."""
    read = lines(200)
    for line, cells in zip(read.tolist(), RELATIONS["subject of the verb"](read), strict=True):
        words = [PROOFREADER_WORDS[i] for i in line]
        for i, word in enumerate(words):
            nouns = [
                j
                for j in range(i)
                if words[j] in (*SINGULAR, *PLURAL) and (j < 2 or words[j - 2] not in PREPOSITIONS)
            ]
            wanted = nouns[-1:] if word in (*IS, *ARE) else []
            assert cells[i].nonzero()[:, 0].tolist() == wanted


def test_every_generated_sentence_is_read_to_its_end() -> None:
    assert readable(lines(500)).all()
    assert not in_doubt(lines(500)).any()


def test_a_third_of_what_is_asked_is_wrong_and_every_kind_occurs() -> None:
    read = lines(2000)
    right = SEQUENCES["proofreader"].answers(read)
    asked = right != NOT_ASKED
    assert 0.3 < float((right != read)[asked].float().mean()) < 0.4
    shares = {
        name: float(cells(read).any(-1).sum() / asked.sum()) for name, cells in RELATIONS.items()
    }
    assert min(shares.values()) > 0.05
    assert sum(shares.values()) == pytest.approx(1)  # no word is asked in two ways


def test_a_seed_gives_the_sentences_that_the_shipped_proofreader_has_learned_from() -> None:
    """Another grammar would need other weights: what they were trained on is never to change."""
    read = lines(500)
    assert " ".join(PROOFREADER_WORDS[i] for i in read[3].tolist()) == (
        "Anna Stone said , ‘ the boxes by the cat by the wall were small ’ . . . . . . . ."
    )
    assert sha256(bytes(read.flatten().tolist())).hexdigest()[:16] == "fc5ad4393ad0440f"


def test_lines_are_sentences_and_then_full_stops() -> None:
    for line in lines(200).tolist():
        text = " ".join(PROOFREADER_WORDS[i] for i in line)
        while text.endswith(" . ."):
            text = text[:-2]
        for sentence in text.removesuffix(" .").split(" . "):
            first = sentence.split()[0]
            assert first == "The" or first in (*MEN, *WOMEN)
            if first != "The":
                assert sentence.split()[1] in SURNAMES


def test_every_word_occurs_and_sentences_have_up_to_two_places() -> None:
    read = [[PROOFREADER_WORDS[i] for i in line] for line in lines(2000).tolist()]
    assert {word for line in read for word in line} == {*PROOFREADER_WORDS}
    begun = [line[: line.index(".")] for line in read if line[0] == "The"]
    places = [sum(word in PREPOSITIONS for word in line) for line in begun]
    shares = [places.count(n) / len(begun) for n in range(4)]
    assert shares == pytest.approx([0.25, 0.5, 0.25, 0], abs=0.06)
    assert 0.2 < len(begun) / len(read) < 0.3  # one kind of four


def test_a_sentence_that_fits_to_its_last_word_is_taken() -> None:
    """The shortest has four words: The birds sing."""
    read = lines(200, 4)
    assert (read[:, 0] == NUMBER["The"]).any()
    assert (read[:, 3] == NUMBER["."]).all()


def test_a_line_too_short_for_any_sentence_is_full_stops() -> None:
    assert not lines(3, 2).any()


# --- the trained weights in multi-head attention --------------------------------------------------


@pytest.mark.parametrize("h", [1, 4, 6])
def test_multi_head_attention_has_the_maps_of_the_proofreader(h: int) -> None:
    """Its first heads are those that were trained."""
    entry = ncd.catalogue["proofreader"]
    reader = read_weights(ncd.compile(entry.build()), shipped_file(entry, entry.settings({})))
    tokens, maps = lines(1)[0], {}
    run(reader, tokens, maps=maps)
    term = ncd.catalogue["multi-head-attention"].build(h=h, y=LONGEST, x=LONGEST)
    module = read_weights(ncd.compile(term, 3), attention_weights(h, 3))
    rows = word_vectors([PROOFREADER_WORDS[i] for i in tokens])
    trace = ncd.trace(module, rows, rows)
    (softmax,) = (cell for cell in module.circuit.cells if cell.op.role == "softmax")
    found = trace.values[softmax.outputs[0].id]  # y x h
    for head, map in list(zip(range(h), maps.values(), strict=False)):
        torch.testing.assert_close(found[..., head], map, atol=1e-5, rtol=1e-4)


def test_the_output_is_what_the_proofreader_adds_to_its_words() -> None:
    entry = ncd.catalogue["proofreader"]
    reader = read_weights(ncd.compile(entry.build()), shipped_file(entry, entry.settings({})))
    tokens = lines(1)[0]
    rows = word_vectors([PROOFREADER_WORDS[i] for i in tokens])
    term = ncd.catalogue["multi-head-attention"].build(y=LONGEST, x=LONGEST)
    module = read_weights(ncd.compile(term), attention_weights(4, 0))
    with torch.no_grad():
        scores = (rows + module(rows, rows)) @ reader.get_parameter("U.weight").T
        torch.testing.assert_close(scores, reader(tokens), atol=1e-4, rtol=1e-4)


def test_heads_beyond_the_trained_ones_are_drawn_from_the_seed() -> None:
    one, two = (attention_weights(6, seed) for seed in (0, 1))
    assert one != two and attention_weights(4, 0) == attention_weights(4, 1)


def test_an_unknown_word_is_the_mean_of_all() -> None:
    known = torch.stack([word_vectors([word])[0] for word in PROOFREADER_WORDS])
    torch.testing.assert_close(word_vectors(["xylophone"])[0], known.mean(0), atol=1e-5, rtol=1e-4)


def test_the_weights_fit_their_own_sizes() -> None:
    own = {"h": 4, "k": PROOFREADER_SIZES["k"], "m": PROOFREADER_SIZES["m"], "y": LONGEST, "x": 1}
    assert fits(own) and fits({**own, "h": 16})
    for name, other in (("k", 8), ("m", 64), ("y", LONGEST + 1), ("x", LONGEST + 1)):
        assert not fits({**own, name: other})


def test_every_head_has_work_of_its_own() -> None:
    """Each kind of agreement is one head's work, and every head has one."""
    assert len(set(roles())) == len(roles()) == 4
    assert "nothing in particular" not in roles()
