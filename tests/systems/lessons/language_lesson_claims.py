"""What the lessons on language claim, computed."""

from __future__ import annotations

from collections.abc import Mapping

import ncd
from ncd.app.panels.language_models.sampling_steps import Cuts, cuts, written_texts
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.inputs.story_model import SAMPLE
from ncd.systems.language_models.token_sampling import TEMPERATURES
from tests.app.panels.views import scene
from tests.systems.lessons.facts import Claim, Facts, answer


def read(f: Facts) -> tuple[str, ...]:
    """The words that the model has read."""
    return tuple(f.query.get("sequence", SAMPLE).split())


def left(f: Facts) -> Cuts:
    """The chances after each step, as the page shows them."""
    here = scene("sampling", feed=InputSpec(text=read(f)), **f.settings)
    return cuts(here.circuit, here.trace)


def greedy(f: Facts) -> bool:
    """Whether all tokens are the likeliest if all random numbers are 0."""
    scores, z = scene("sampling", feed=InputSpec(text=read(f)), **f.settings).inputs
    tokens, _ = ncd.compile(f.circuit.term)(scores, 0 * z)
    return len(z) > 1 and set(tokens.tolist()) == {int(scores.argmax())}


def texts(f: Facts) -> dict[str, float]:
    """The perplexity of what each rule writes."""
    here = scene("sampling", feed=InputSpec(text=read(f)), **f.settings)
    return {rule: text.perplexity for rule, text in written_texts(here)}


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
        "At 0.2 the likeliest gets two thirds of the chances.": lambda f: (
            TEMPERATURES[f.settings["t"]] == "0.2" and abs(left(f).chances[3, 0] - 2 / 3) < 0.02
        ),
        "Near 0 the draw is greedy: always the same token.": "the limit of a softmax",
        "Top-k leaves ten all the same, and top-p one.": lambda f: (
            (left(f).token_count(1), left(f).token_count(3)) == (10, 1)
        ),
        "Sixty, ten for each of six draws.": lambda f: (
            (f.size("k"), f.size("b")) == (10, 6)
            and Facts(f.entry, f.settings, {"ask": "numbers:v22"}).answer == "60"
            and f.lit == ["Map > u"]
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
    },
}
