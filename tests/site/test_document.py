"""The HTML file: what is in it, what folding leads to, what it weighs."""

import re
from html.parser import HTMLParser

import pytest

import ncd
from ncd.drawing.elements import style
from ncd.site import document, markup
from ncd.site.collapse_states import STATES, collapsed_ids, state_name, states
from ncd.site.document import DEEPEST, PageParts
from ncd.site.source_listing import coloured_lines, excerpt
from ncd.write.torch_source.source_file import lines
from tests.drawing.large_systems import resnet_50
from tests.support.effort import calls
from tests.support.html_files import packed, whole

MHA = "multi-head-attention"
VOID = {"meta", "button", "br"}


@pytest.fixture(scope="module")
def text() -> str:
    return ncd.html(ncd.catalogue[MHA].build())


class Balance(HTMLParser):
    """Whether every element is closed, and what ids there are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_it_is_one_sound_file(text):
    balance = Balance()
    balance.feed(text + "".join(packed(text, "later").values()))
    assert balance.open == [] and len(set(balance.ids)) == len(balance.ids)


def test_it_asks_for_nothing(text):
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert not re.search(r"url\((?!data:font|#)", text)


def test_it_is_small_and_the_diagram_comes_first(text):
    assert len(text.encode()) <= 165_000  # 20,000 of which are the values on the wires
    assert len(text.partition("</svg></div>")[0].encode()) <= 50_000
    assert text.count("@font-face") == len({*re.findall(r"@font-face\{[^}]*\}", text)}) <= 6


def test_values_are_there_unless_they_are_left_out_or_take_long_to_run(text):
    data = packed(text, "wire-values")
    drawn = "".join(packed(text, "states", "valued").values())
    assert set(re.findall(r'class="thumbnail"[^>]*data-array="(v\d+)"', drawn)) == {*data["arrays"]}
    assert 'class="values"' in text and "img-src data:" in text
    large = ncd.Axes(m=30_000, k=30_000)(ncd.ops.Linear("m -> k"))
    for without in (ncd.html(ncd.catalogue[MHA].build(), seed=None), ncd.html(large)):
        assert 'class="values"' not in without and "img-src" not in without
        assert packed(without, "wire-values") == {}


def test_every_op_and_block_has_a_card(text):
    circuit, cards = ncd.elaborate(ncd.catalogue[MHA].build()), packed(text, "later")
    for part in (*circuit.cells, *circuit.fences):
        assert f'id="card-{part.id}"' in cards[part.id]
    card = cards["n6"]
    assert "softmax along x" in card and "<math" in card and "softmax(" in card
    assert "(20 22 4)" in card and "FLOP" in card


def test_every_axis_has_a_row(text):
    rows = re.findall(r'class="row" type="button" data-axis="(\w+)"', text)
    assert rows == ["y", "m", "x", "k", "h"]


def test_folding_leads_to_every_drawing(text):
    found = packed(text)
    rows = re.findall(r'class="row" type="button" data-fold="(\w+)"', text)
    assert rows == ["f0", "f5"]  # of blocks with more than two ops
    assert set(found) == {"", "f0", "f5"} and len(found) <= STATES
    for key, svg in found.items():
        boxes = set(re.findall(r'class="op" data-fence="(\w+)"', svg))
        assert boxes == set(key.split())
    assert "var(--einsum)" in found[""] and style.role_colour("einsum") not in found[""]


def test_a_file_holds_a_limited_number_of_drawings():
    assert len(states(*folding())) == 4
    found = states(*folding(), most=3)
    assert [state_name(shut) for shut in found] == ["", "f0", "f1"]  # one step away comes first


def folding():
    """Two blocks that collapse, each alone and both together."""
    layer = ncd.Linear("m:4 -> m:4", "W") >> ncd.Elementwise("relu") >> ncd.Softmax("m:4")
    term = ncd.Block(layer, "One", "linear") >> ncd.Block(layer, "Two", "softmax")
    return term, {fence.id: "" for fence in ncd.elaborate(term).fences}, "names"


def test_alike_layers_are_one_block_that_folds():
    layer = ncd.Linear("m:4 -> m:4", "W") >> ncd.Elementwise("relu") >> ncd.Softmax("m:4")
    term = ncd.Then(*(ncd.Block(layer, "Layer"),) * 6)
    text = ncd.html(term)
    names = re.findall(r"data-fold=\"\w+\" data-fence=\"\w+\"[^>]*>[^>]*></span>([^<]*)<", text)
    assert names == ["Layer ×6"]
    (stack,) = (key for key in packed(text) if key.startswith("s"))
    card = packed(text, "later")[stack]
    assert "Repeated 6 times" in card and "(4)" in card


@pytest.mark.slow
def test_every_block_of_a_large_drawing_folds():
    text = ncd.html(resnet_50())
    rows = set(re.findall(r'class="row" type="button" data-fold="(\w+)"', text))
    found = packed(text)
    first = found[re.search(r'data-state="([^"]*)"', text)[1]]
    shown = set(re.findall(r'class="fence" data-fence="(\w+)"', first)) & rows
    assert len(shown) > 5 and shown <= {id for key in found for id in key.split()}


def test_the_first_drawing_is_the_one_that_is_drawn_by_itself():
    term = ncd.catalogue[MHA].build()
    first = next(iter(states(term, {}, "names")))
    assert first == collapsed_ids(ncd.draw(term))
    assert state_name(frozenset({"f3", "f1"})) == "f1 f3"


def test_a_file_is_titled_as_asked_or_like_its_outermost_block():
    term = ncd.Block(ncd.Linear("m:4 -> m:4", "W") >> ncd.Softmax("m"), "A <block>")
    for title, head in (("", "A &lt;block&gt;"), ("Mine", "Mine")):
        assert f"<title>{head}</title>" in ncd.html(term, title=title, seed=None)


def test_blocks_are_listed_as_they_begin_and_inner_ones_are_indented():
    three = ncd.Softmax("m:3") >> ncd.Softmax("m") >> ncd.Softmax("m")
    outer = ncd.Block(ncd.Block(three, "In") >> three, "Out")
    parts = [ncd.elaborate(outer >> ncd.Block(three, "Last"))]
    depths = document._depths(parts)
    rows = "".join(document._rows(depths, [*reversed(depths)], parts))
    shown = re.findall(r"margin-left:(\d+)em[^>]*>.*?</span>([^<]*)<", rows)
    assert shown == [("0", "Out"), ("1", "In"), ("0", "Last")]
    assert document._depths([ncd.elaborate(ncd.Softmax("m:3"))]) == {}


def test_there_are_fewer_drawings_with_values_than_without(monkeypatch):
    asked = []
    monkeypatch.setattr(document, "states", lambda *own: asked.append(own[3:6]) or {})
    most, letters = document.VALUED_STATES, document.VALUED_LETTERS
    for count in (most - 1, most + 1):
        around = PageParts(states=count, widths=((900.0, 10), (300.0, letters + 1)))
        views = document._views(None, "names", [], around, "")
        valued = document._valued_views(None, "names", [], around, "", {"v0": None})
        assert list(views) == list(valued) == [900.0, 300.0]
    assert asked == [
        *((most - 1, 900.0, 10), (most - 1, 300.0, letters + 1)),
        *((most - 1, 900.0, 10), (most - 1, 300.0, letters)),
        *((most + 1, 900.0, 10), (most + 1, 300.0, letters + 1)),
        *((most, 900.0, 10), (most, 300.0, letters)),
    ]
    assert document._valued_views(None, "names", [], PageParts(), "", {}) == {}


def test_a_card_shows_the_lines_of_its_own_class():
    inner = ncd.Block(ncd.Linear("m:4 -> m:4", "W") >> ncd.Softmax("m"), "Inner", name="inner")
    text = ncd.html(inner >> ncd.Linear("m -> m", "V"))
    code = re.sub(r"<[^>]*>", "", packed(text, "later")["n0"])
    assert "self.W = " in code and "self.W(" in code and "self.inner" not in code


def test_what_comes_from_outside_is_escaped():
    evil = '</script><script>alert("x")</script>'
    text = whole(ncd.html(ncd.Block(ncd.Id("m:2") >> ncd.Softmax("m"), evil)))
    assert "<script>alert" not in text
    assert markup.text(evil) in text


def test_a_term_without_sizes_has_cards_without_costs():
    text = ncd.html(ncd.Linear("m -> k h", "Q"))
    assert list(packed(text, "later")) == ["n0"] and "FLOP" not in whole(text)


def test_an_equation_and_a_repetition_are_written():
    layer = ncd.Block(ncd.Linear("m:4 -> m:4", "W") >> ncd.Softmax("m"), "Layer")
    assert "Repeated 6 times" in whole(ncd.html(ncd.Repeat((layer,) * 6)))
    same = ncd.Equation(ncd.Id("m:2") >> ncd.Softmax("m"), ncd.Softmax("m:2"))
    assert "<svg" in ncd.html(same)


def test_deeply_nested_blocks_make_few_drawings() -> None:
    """Only the outer levels collapse; with all fifty a file took eight seconds."""
    term: ncd.Term = ncd.Linear("m -> m", "L")
    for level in range(50):
        term = ncd.Block(term >> ncd.Elementwise("relu"), f"level {level}")
    text = ncd.html(ncd.Axes(m=4)(term))
    assert len(packed(text)) <= DEEPEST + 2  # with the first one, where more is collapsed
    assert len(re.findall(r'class="row"[^>]*data-fold', text)) == DEEPEST


def test_the_lines_of_an_op_are_found_without_reading_all_others() -> None:
    def effort(count: int) -> int:
        layers = [ncd.Block(ncd.Linear("m:3 -> m", f"L{n}"), name=f"b{n}") for n in range(count)]
        circuit = ncd.elaborate(ncd.Then(*layers))
        listing = coloured_lines(lines(circuit.term), circuit)
        codes: list[str] = []

        def work() -> None:
            codes.extend(excerpt(listing, circuit, False, frozenset({c.id})) for c in circuit.cells)

        made = calls(work)
        assert all(f'data-node="n{n}"' in code for n, code in enumerate(codes))
        return made

    assert effort(80) < 5 * effort(20)
