"""What the lessons on language claim, computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F

import ncd
from ncd.app.panels.language_models.date_alignment import WrittenDate, written_date
from ncd.app.panels.language_models.gradient_reach import gradient_reach
from ncd.app.panels.language_models.sampling_steps import Cuts, cuts, written_texts
from ncd.app.panels.language_models.speculative_texts import AHEAD, chance_rule, written_passes
from ncd.run.seeding import generator
from ncd.systems.inputs.byte_pairs import Merges, encode, pair_counts
from ncd.systems.inputs.date_model import date_input
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.inputs.story_model import SAMPLE as STORY_SAMPLE
from ncd.systems.inputs.token_inputs import OTHER_SAMPLE, SAMPLE, text_merges
from ncd.systems.language_models.byte_pair_tokens import BYTES
from ncd.systems.language_models.speculative_decoding import SpeculativePass, expected_words
from ncd.systems.language_models.token_sampling import TEMPERATURES
from ncd.systems.recurrent.plain_recurrence import GAINS
from ncd.systems.training.story_grammar import STORY_WORDS
from ncd.systems.training.tasks import data, task
from ncd.systems.training.trained_weights import (
    read_note,
    read_weights,
    shipped_file,
    shipped_weights,
)
from ncd.systems.training.training_loop import answer_unseen
from tests.app.panels.views import scene
from tests.systems.lessons.facts import Claim, Facts, answer


def read(f: Facts) -> tuple[str, ...]:
    """The words that the model has read."""
    return tuple(f.query.get("sequence", STORY_SAMPLE).split())


def left(f: Facts) -> Cuts:
    """The chances after each step, as the page shows them."""
    here = scene("sampling", feed=InputSpec(text=read(f)), **f.settings)
    return cuts(here.circuit, here.trace)


def greedy(f: Facts) -> bool:
    """Whether all tokens are the likeliest if all random numbers are 0."""
    scores, z = scene("sampling", feed=InputSpec(text=read(f)), **f.settings).inputs
    tokens, _ = ncd.compile(f.circuit.term)(scores, 0 * z)
    return len(z) > 1 and set(tokens.tolist()) == {int(scores.argmax())}


def speculated(f: Facts, count: int) -> list[SpeculativePass]:
    """The passes that write a text on from the words that the model has read."""
    begin = [STORY_WORDS.index(word) for word in read(f)]
    return written_passes(begin, count, chance_rule(f.settings), generator(0, "a claim"))


def texts(f: Facts) -> dict[str, float]:
    """The perplexity of what each rule writes."""
    here = scene("sampling", feed=InputSpec(text=read(f)), **f.settings)
    return {rule: text.perplexity for rule, text in written_texts(here)}


def written(f: Facts) -> WrittenDate:
    """What the page writes of a date, and where it looks."""
    given = date_input(
        *(f.settings[n] for n in ("s", "t", "attend")), 0, text=f.query.get("sequence", "")
    )
    assert given is not None
    here = scene(
        "seq2seq-attention", feed=InputSpec(given.words, numbers=given.numbers), **f.settings
    )
    trained = shipped_weights(f.entry, f.settings)
    return written_date(replace(here, loaded_weights=trained), given.read)


def right_dates(f: Facts) -> float:
    """The share of unseen dates that the shipped weights write without a mistake."""
    own, file = task(f.entry.name), shipped_file(f.entry, f.settings)
    assert file is not None and read_note(file)["steps"] == str(own.steps)
    module = read_weights(ncd.compile(f.entry.build(**f.settings)), file)
    return own.score(*answer_unseen(own, f.settings, module, data(own, f.settings, seed=0)))


def looked_at(found: WrittenDate) -> list[int]:
    """The place that each step looks at most."""
    assert found.weights is not None
    return found.weights.argmax(1).tolist()


def reach(f: Facts) -> float:
    """The share of the last position's gradient that the first one gets, as the page shows it."""
    here = scene("rnn", **f.settings)
    return gradient_reach(here.module, here.inputs[0], here.seed)[0]


def merges(f: Facts) -> Merges:
    """The merges that a tokenizer's page shows."""
    return text_merges(SAMPLE).prefix(f.settings["v"] - BYTES)


def tokens(f: Facts) -> list[int]:
    """The tokens of the text that a tokenizer has learned from."""
    return encode(SAMPLE, merges(f))


def one_hot(f: Facts) -> torch.Tensor:
    """The array that the table is multiplied with."""
    module = ncd.compile(f.circuit.term)
    trace = ncd.trace(module, torch.tensor(tokens(f)[: f.size("t")]))
    return trace.values[f.ops("Map one-hot")[0].outputs[0].id]


LESSONS: Mapping[str, Mapping[str, Claim]] = {
    "sampling": {
        "Its scores of 201 tokens go in, and six tokens that are drawn come out.": lambda f: (
            f.size("v") == 201 and len(left(f).places) == 6 and " ".join(read(f)) == "Mia has a"
        ),
        "The 191 tokens that top-k leaves out are unlikely, each of them; but together they would "
        "be drawn one time in ten.": lambda f: (
            (found := left(f))
            and found.chances[0, found.token_count(1) :].shape == (191,)
            and found.chances[0, 10:].max() < 0.03
            and abs(found.chances[0, 10:].sum() - 0.1) < 0.005
        ),
        "A temperature of 2 makes chances more even: top-p leaves nine tokens now, where it left "
        "five.": lambda f: (
            TEMPERATURES[f.settings["t"]] == "2"
            and (left(f).token_count(3), left(f.at()).token_count(3)) == (9, 5)
            and left(f).unsureness(2) > left(f.at()).unsureness(2)
        ),
        "Top-k leaves ten all the same, and top-p one.": lambda f: (
            (left(f).token_count(1), left(f).token_count(3)) == (10, 1)
        ),
        "If all random numbers were 0, on what would the tokens still depend?": answer(
            "on the input scores only"
        ),
        "On the scores only: each draw would be the likeliest token.": greedy,
        "That is greedy, which always writes the same.": "it draws nothing",
        "Beams find a likelier text than it does.": lambda f: (
            texts(f)["4 beams"] < texts(f)["greedy"]
        ),
        "From all tokens, at a temperature of 2, comes a text of perplexity 52: a word that does "
        "not fit is never taken back.": lambda f: (
            round(texts(f)["all tokens, temperature 2"]) == 52
        ),
        "A draft that only counts proposes four words, and one pass of the model checks them "
        "all.": lambda f: (
            AHEAD.default == "4"
            and "ahead" not in f.query
            and all(
                len(own.proposals) == 4 and 0 < len(own.agreements) <= 4 for own in speculated(f, 4)
            )
        ),
        "Struck through is what it rejects; the last column is its own chance, whatever the draft "
        "says.": lambda f: any(own.accepted_count < 4 for own in speculated(f, 4)),
        "Of the words of a good draft 80% stay.": lambda f: f.query["ask"].startswith("pass:0.8,"),
        "How much faster does the model write?": answer("3.36"),
        "3.36 words a pass instead of one.": lambda f: round(expected_words(0.8, 4), 2) == 3.36,
        "With eight ahead it would be 4.33: each word counts only if all before it "
        "stay.": lambda f: (f.query["ahead"], round(expected_words(0.8, 8), 2)) == ("8", 4.33),
    },
    "seq2seq-attention": {
        "The encoder has read “november 3 1998”.": lambda f: (
            "".join(written(f).read.words).startswith("november 3 1998·")
            and written(f).symbols == written(f).answer == "1998-11-03"
        ),
        "The year is written first and stands last: the first four rows of the map look at the "
        "end.": lambda f: all(place >= 12 for place in looked_at(written(f))[:4]),
        "The same day in another order is written alike.": lambda f: (
            written(f).symbols == "1998-11-03" == written(f).answer
            and "".join(written(f).read.words).startswith("3.11.1998")
        ),
        "Nobody told it that a month stands second here: two dots say so.": lambda f: (
            written(replace(f, query={"sequence": "11/3/1998"})).symbols == "1998-11-03"
        ),
        "The softmax spreads 1 over s.": lambda f: (
            f.lit.count("Softmax") == 1
            and {"Linear W", "Linear U", "Linear e"} <= {*f.lit}
            and f.outs("Softmax") == ["s"]
        ),
        "Which scores change?": answer("the same place and all later ones"),
        "Half as many symbols are read.": lambda f: f.then.settings["s"] * 2 == f.settings["s"],
        "There are just as many: the same three maps compare a state with every symbol, and the "
        "softmax runs over as many as there are.": lambda f: (
            ncd.cost(f.entry.build(s=9)).parameters == f.cost.parameters
            and {"Linear W", "Linear U", "Linear e"} <= {*f.lit}
        ),
        "It knows the year, and guesses the month: november became december.": lambda f: (
            written(f).symbols == "1998-12-03" and written(f).answer == "1998-11-03"
        ),
        "Trained as long, it writes 2% of unseen dates without a mistake, and with attention "
        "99%.": lambda f: (f"{right_dates(f):.0%}", f"{right_dates(f.at()):.0%}") == ("2%", "99%"),
    },
    "tokenizer": {
        "A model reads no letters: 24 tokens of a text go in as numbers, and each becomes a row of "
        "the table E.": lambda f: f.size("t") == 24 and f.ins("Index")[1] == "v m",
        "At first each of the 649 bytes is a token, so that no text is without tokens.": lambda f: (
            tokens(f) == [*SAMPLE.encode()] and len(tokens(f)) == 649
        ),
        "In the other text, ô is two bytes.": lambda f: (
            "ô" in OTHER_SAMPLE and len(encode("ô", merges(f))) == 2
        ),
        "h and e stand side by side 27 times, more often than any others.": lambda f: (
            merges(f).tokens[256:] == (b"he",)
            and merges(f).counts == (27,)
            and sorted(pair_counts([tokens(f.at(v=256))], [1]).values())[-2] < 27
        ),
        "They become token 256, and the text is 27 tokens shorter.": lambda f: (
            len(tokens(f)) == 649 - 27
        ),
        "After 40 merges about half of the tokens are left.": lambda f: (
            len(merges(f).pairs) == 40 and abs(len(tokens(f)) / 649 - 0.5) < 0.01
        ),
        "Frequent words are whole, and so are endings such as ing and est.": lambda f: (
            {b"ing", b"est", b" the", b" river", b" lower"} <= {*merges(f).tokens}
        ),
        "After 76 no pair stands twice.": lambda f: (
            len(merges(f).pairs) == 76 == len(text_merges(SAMPLE).pairs)
        ),
        "A token has 2.7 bytes where it has learned, and 2.4 in another text: a new one is cut "
        "less well.": lambda f: (
            round(649 / len(tokens(f)), 1) == 2.7
            and round(len(OTHER_SAMPLE.encode()) / len(encode(OTHER_SAMPLE, merges(f))), 1) == 2.4
        ),
        "Which vectors change?": answer("the same place only"),
        "The same token has the same row wherever it stands; what words mean together is left to "
        "the layers behind.": lambda f: (
            f.lit == ["Index"]
            and [cell.op.display_name for cell in f.circuit.cells] == ["Param E", "Index"]
        ),
        "The same vectors come out of a product with the table.": lambda f: (
            f.answer == "t v" and f.ins("Einsum") == ["t v", "v m"]
        ),
        "For each token a 1 at its number and 0 elsewhere.": lambda f: torch.equal(
            one_hot(f), F.one_hot(torch.tensor(tokens(f)[:24]), 296).float()
        ),
        "That takes 227,328 operations; to take the rows takes none.": lambda f: (
            (f.count("flops"), f.at().count("flops")) == (227_328, 0)
        ),
    },
    "rnn": {
        "One state is carried along 20 positions.": lambda f: f.size("t") == 20,
        "At each of them the same step makes the next state: a map of it, a map of the input, and "
        "a tanh.": lambda f: (
            f.ins("Linear hh") == ["h"]
            and f.ins("Linear ih") == ["m"]
            and len(f.ops("Map tanh")) == 1
        ),
        "Which states change?": answer("the same place and all later ones"),
        "We read half as much.": lambda f: f.then.settings["t"] * 2 == f.settings["t"],
        "Just as many: all steps share one map of the state, and a gradient passes it once for "
        "each step on its way back.": lambda f: (
            f.grows("parameters") == 1 and f.lit == ["Linear hh"]
        ),
        "Where the map halves a state, less than a millionth of the gradient comes back to the "
        "first position.": lambda f: GAINS[f.settings["gain"]] == "0.5" and reach(f) < 1e-6,
        "Where it makes a state three times as long, the gradient grows more than 600 times, "
        "although each tanh takes something off.": lambda f: (
            GAINS[f.settings["gain"]] == "3" and 600 < reach(f) < 3**19
        ),
        "Even a map that keeps lengths loses all but 0.3%, by the slopes of the tanh.": lambda f: (
            GAINS[f.settings["gain"]] == "1" and f"{reach(f):.1%}" == "0.3%"
        ),
    },
}
