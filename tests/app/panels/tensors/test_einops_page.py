"""The einops page: it agrees with einops, and says what is wrong with a line, where and why."""

from __future__ import annotations

import re
from html import unescape
from random import Random

import einops
import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.host import live_endpoint
from ncd.app.panels.tensors import einops_pattern
from ncd.app.panels.tensors.einops_pattern import batch, choices, outcome
from ncd.app.panels.tensors.einops_shape_check import MAX_NUMBERS, checked_line
from ncd.explain.equation_proof import max_difference
from ncd.systems.tensors.einops_patterns import TEXTS, CallError, term
from tests.app.page.test_pages import fine, page
from tests.app.panels.images.test_figure_panels import sent
from tests.support.einops_lines import ARRAYS, SIZES, by_hand, valid, wrong
from tests.support.sampling import count

QUERY = {name: str(size) for name, size in SIZES.items()}
LINE = 'rearrange(ims, "b h w c -> c b h w")'


def typed(app: AppTest, text: str) -> str:
    """What the panel shows of a line that is typed."""
    return html(app.text_input(key=einops_pattern.FIELD).set_value(text).run())


def html(app: AppTest) -> str:
    fine(app)
    return unescape(str(sent(app, "einops")["html"]))


def lines(count: int) -> list[str]:
    random = Random(0)
    found: dict[str, None] = {}
    while len(found) < count:
        found[valid(random)] = None
    return list(found)


def test_it_agrees_with_einops_on_200_random_lines() -> None:
    """The shape that it asks for, the diagram's numbers, and the gradient."""
    for text in lines(200):
        expected = by_hand(text)
        found = checked_line(text, SIZES)
        assert found.shapes[-1] == expected.shape, text
        given = ARRAYS[found.parsed_line.input_name]
        ours = ncd.compile(term(text, SIZES))(given)
        assert max_difference(ours, expected) < 1e-5, text
        assert max(outcome(text, found, SIZES, "cpu").max_differences) < 1e-5, text
        assert found.shapes[-1] in choices(text, found)


def test_lines_that_are_wrong_each_get_a_message_and_their_place() -> None:
    random, app, most = Random(1), page("einops", asking="on", **QUERY), count(70, 200)
    texts: dict[str, None] = {}
    while len(texts) < most:
        text = wrong(random).strip()
        if text:
            texts[text] = None
    theirs = 0
    for text in texts:
        shown = typed(app, text)
        assert '<p role="status"><b>' in shown, text
        assert "<mark>" in shown, text
        try:
            by_hand(text)
        except einops.EinopsError as error:
            told = str(error).strip().splitlines()[-1].strip()
            theirs += told in shown
        except Exception:
            pass
    assert theirs > 0.4 * most, theirs
    assert "Which shape comes out?" in typed(app, LINE)


def test_the_lines_of_the_document_are_asked_for_and_then_shown() -> None:
    for number, text in enumerate(TEXTS):
        app = page("einops", pattern=str(number), asking="on", **QUERY)
        assert app.text_input(key=einops_pattern.FIELD).value == text
        asked = html(app)
        assert "Which shape comes out?" in asked
        assert "What comes out" not in asked
        app.session_state[einops_pattern.ASKING.name] = "off"
        shown = html(app.run())
        right = " ".join(map(str, by_hand(text).shape)) or "()"
        assert f"What comes out: shape <b>{right}</b>" in shown
        assert "Which shape comes out?" not in shown


def drawn(app: AppTest) -> str:
    """The diagram of the page, and whether the live endpoint draws the same."""
    told = sent(app, "told-drawn")
    ahead = live_endpoint.drawing_json("einops", str(told["ask"]))
    assert ahead is not None and ahead["svg"] == told["svg"]
    return re.sub(" (id|data-[a-z]+)=.*?(?=[ >])", "", str(told["svg"]))


def diagram(text: str) -> str:
    look = ncd.catalogue["einops"].look({}) | {"labels": "names", "width": 0.82 * 1280}
    svg = ncd.draw(term(text, SIZES), **look).svg(fonts=False)
    return re.sub(" (id|data-[a-z]+)=.*?(?=[ >])", "", svg)


def test_a_line_of_ones_own_is_the_diagram_and_one_of_the_document_is_chosen() -> None:
    app = page("einops", **QUERY)
    shown = typed(app, LINE)
    assert "What comes out: shape <b>3 2 4 6</b>" in shown  # answered at once
    assert 'href="yours?text=' in shown and "in Yours" in shown
    assert drawn(app) == diagram(LINE)
    typed(app, f" {TEXTS[6]} ")
    assert drawn(app) == diagram(TEXTS[6])
    assert app.session_state["pattern"] == 6
    elsewhere = typed(app, "einsum('bhid,bhjd->bhij', q, k)")
    assert "Yours draws it, with any shape" in elsewhere
    typed(app, LINE)
    fine(app.segmented_control(key="pattern").set_value(5).run())
    assert app.text_input(key=einops_pattern.FIELD).value == TEXTS[5]


def test_a_line_is_part_of_the_link_and_its_letters_stay_letters() -> None:
    app = page("einops", call='rearrange(ims, "<u>& b -> b")', asking="off")
    shown = str(sent(app, "einops")["html"])
    assert "&lt;u&gt;" in shown
    assert "<u>" not in shown
    assert app.text_input(key=einops_pattern.FIELD).value.startswith("rearrange(ims, ")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('repeat(ims, "b h w c -> b h w c n", n=99999)', ("it would make 14,399,856 numbers",)),
        ('rearrange(ims, "b h w -> w b h c")', ("c stands on one side only", "Try repeat")),
        ('rearrange(ims, "b (h h1) w c -> b h h1 w c", h1=3)', ("h1 = 3", "Try h1 = 4.")),
        ('reduce(ims, "b h w -> b", "max")', ("has 4 axes, 2 4 6 3, and the left side names 3",)),
        ('rearrange(ims, "b h w c")', ("one arrow, and this one has none",)),
        ('rearrange(ims, "b for w c -> b w c for")', ("advises against the name for",)),
        ('rearrange(ims, "b tensor w c -> b w c tensor", tensor=4)', ("called tensor",)),
        ('repeat(ims, "b h w c -> b h w c' + " 1" * 20 + '")', ("up to 12 words",)),
    ],
)
def test_a_message_says_what_would_help(text: str, facts: tuple[str, ...]) -> None:
    with pytest.raises(CallError) as error:
        checked_line(text, SIZES)
    for fact in facts:
        assert fact in str(error.value)


def test_pictures_that_are_too_large_are_not_made() -> None:
    app = page("einops", h="1000", w="1000")
    assert f"up to {MAX_NUMBERS:,} are shown here" in html(app)


def test_the_six_pictures_are_six() -> None:
    ims = batch(6, 96, 96, 3)
    assert ims.shape == (6, 96, 96, 3)
    assert 0 <= float(ims.min()) < float(ims.max()) <= 1
    assert all((ims[i] != ims[j]).any() for i in range(6) for j in range(i))
    again = batch(8, 96, 96, 3)
    assert (again[6] == ims[0]).all()


@pytest.mark.parametrize(("pattern", "count"), [("b h w c", "none"), ("b h w c -> h w -> c", "2")])
def test_a_pattern_has_one_arrow(pattern: str, count: str) -> None:
    with pytest.raises(CallError) as error:
        checked_line(f'rearrange(ims, "{pattern}")', SIZES)
    fact = f"a pattern has one arrow, and this one has {count}. "
    assert str(error.value) == fact + 'Try "b h w c -> b c h w".'
