"""Parts of an exported page for a system of three ops, counted by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

import ncd
from ncd import (
    Axes,
    Axis,
    Block,
    Conv,
    Equation,
    Id,
    Linear,
    Rename,
    Repeat,
    Softmax,
    Top,
    Window,
    elaborate,
)
from ncd.circuit.costs import cost_of
from ncd.circuit.knob import Knob
from ncd.circuit.sized_system import parametric_term
from ncd.formulas.traced_sizes import SizeTrace
from ncd.site import entry_page, page_tables
from ncd.site.collapse_states import (
    _is_inside,
    collapsed_ids,
    drawing_parts,
    state_name,
    states,
    svg,
)
from ncd.site.document import _rows_of
from ncd.site.forward_steps import by_side, drawn_ids, step_words, stops
from ncd.site.live_texts import LARGEST, SizeDependentTexts, _arrays, loop_sizes, size_data
from ncd.site.op_cards import Content, block_op_ids, facts_html, of_block, of_cell, title
from ncd.site.page_tables import step_table
from ncd.site.quiz_facts import computed_axes
from ncd.site.source_listing import _pair, coloured, coloured_lines, diff_html, excerpt
from ncd.write.torch_source.source_file import lines

HEAD = Block(Id("y m") >> Linear("m -> k", "A") >> Softmax("k"), "Head")
TERM = Axes(y=5, m=6, k=4)(HEAD >> Linear("k -> m", "B"))
CIRCUIT = elaborate(TERM)
COST = cost_of(CIRCUIT)


def plain(html: str) -> str:
    return re.sub("<[^>]*>", "", html)


def axis(name: str) -> str:
    return f'<span class="axis" data-axis="{name}">{name}</span>'


# --- facts and costs ------------------------------------------------------------------------------


def test_the_facts_of_an_op_and_of_a_block() -> None:
    one, two, three = (of_cell(cell, COST) for cell in CIRCUIT.cells)
    shown = [{name: plain(value) for name, value in facts.items()} for facts in (one, two, three)]
    assert shown[0] == {"Takes": "y m (5 6)", "Gives": "y k (5 4)", "Parameters": "24",
                        "Costs": "240 FLOP", "Makes": "80 B"}  # fmt: skip
    assert [facts["Parameters"] for facts in shown] == ["24", "0", "24"]
    assert [facts["Makes"] for facts in shown] == ["80 B", "80 B", "120 B"]
    assert shown[1]["Costs"] == "0 FLOP, as only products count"
    (fence,) = CIRCUIT.fences
    block = of_block(CIRCUIT, fence, COST)
    assert {name: plain(value) for name, value in block.items()} == shown[0] | {"Makes": "160 B"}
    assert block_op_ids(CIRCUIT, fence) == {"n0", "n1"}
    bare = of_cell(CIRCUIT.cells[0], None)
    assert {name: plain(value) for name, value in bare.items()} == {"Takes": "y m", "Gives": "y k"}
    assert facts_html({"Takes": "m", "Makes": "80 B"}) == (
        '<dl class="stats"><div><dt>Takes</dt><dd>m</dd></div>'
        "<div><dt>Makes</dt><dd>80 B</dd></div></dl>"
    )


def test_the_name_of_a_block() -> None:
    for term, name in (
        (Block(Softmax("m:3"), "Head"), "Head"),
        (Block(Softmax("m:3"), " ", "softmax"), "Softmax"),
        (Block(Softmax("m:3") >> Softmax("m"), " ", "softmax"), "Softmax"),
        (Block(Linear("m:3 -> k:2", "A"), "", "linear"), "Linear A"),
        (Block(Linear("m:3 -> m", "A") >> Linear("m -> m", "A"), "", "linear"), "Linear"),
        (Repeat((Linear("m:3 -> m", "A"),) * 3), "Repeated 3 times"),
    ):
        assert title(elaborate(term).fences[0]) == name


def content() -> Content:
    return Content.from_circuit(CIRCUIT, frozenset(cell.id for cell in CIRCUIT.cells))


def test_the_table_has_a_row_for_each_step_and_their_totals(monkeypatch) -> None:
    table = step_table(content())
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in table.split("<tr")[1:]]
    cells = [[plain(cell) for cell in row] for row in rows]
    assert cells == [
        ["Step", "Arrays", "Sizes", "Parameters", "FLOPs", "Bytes made"],
        ["Linear A", "y m → y k", "5 6 → 5 4", "24", "240", "80 B"],
        ["Softmax", "y k → y k", "5 4 → 5 4", "0", "0", "80 B"],
        ["Linear B", "y k → y m", "5 4 → 5 6", "24", "240", "120 B"],
        ["Total", "", "", "48", "480", "280 B"],
    ]
    assert table.count('class="number"') == 3 * 5
    assert re.findall('data-node="(.*?)" data-array="(.*?)" data-select="(.*?)"', table) == [
        ("n0", "v0 v1", "n0"), ("n1", "v1 v2", "n1"), ("n2", "v2 v3", "n2"),
    ]  # fmt: skip
    for most, more in ((3, ""), (2, " of 3 steps; the first 2 are listed")):
        monkeypatch.setattr(page_tables, "STEPS", most)
        shown = step_table(content())
        assert f"<td>Total{more}</td>" in shown
        assert shown.count('data-node="') == most
    free = Content.from_circuit(CIRCUIT, frozenset())
    free.cost = None
    assert step_table(free) == ""


# --- source ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("x = m", "x = m"),
        ("x = self.m", f"x = self.{axis('m')}"),
        ("x = other.m", "x = other.m"),
        ("f(m=m, k=3)",
         f'f({axis("m")}=m, k=<span class="number-literal">3</span>)'),
        ("def g(m): m", '<span class="keyword">def</span> g(m): m'),
        ("def __init__(self, m):",
         f'<span class="keyword">def</span> __init__(self, {axis("m")}):'),
        ("x  # m", 'x  <span class="comment"># m</span>'),
        ("f('a m')", f'f(<span class="string">&#39;a {axis("m")}&#39;</span>)'),
        ("a < b", "a &lt; b"),
        ("if m:", '<span class="keyword">if</span> m:'),
    ],
)  # fmt: skip
def test_a_line_of_source_is_coloured(text: str, html: str) -> None:
    assert coloured([text], {"m": "m"}) == [html]


def test_a_string_of_several_lines_is_coloured_line_by_line() -> None:
    found = coloured(['x = """a m', "  m b", ' m""" + m', "y = m"], {"m": "m"})
    m, quote = axis("m"), "&#34;" * 3
    assert found == [
        f'x = <span class="string">{quote}a {m}</span>',
        f'<span class="string">  {m} b</span>',
        f'<span class="string"> {m}{quote}</span> + m',
        "y = m",
    ]
    text = [
        "class A:",
        "    def __init__(self, m):",
        "        self.x = m",
        "    def f(self):",
        "        m",
    ]
    assert [axis("m") in line for line in coloured(text, {"m": "m"})] == [
        *(False, True, True, False, False)
    ]


def test_the_lines_of_an_op_stand_at_the_left_a_few_at_most() -> None:
    listing = coloured_lines(lines(TERM), CIRCUIT)
    for most, count, more in (
        (0, 3, ""),
        (3, 3, ""),
        (2, 2, "… 1 lines more"),
        (1, 1, "… 2 lines more"),
    ):
        found = excerpt(listing, CIRCUIT, False, frozenset({"n1", "n2"}), most)
        rows = re.findall(r'<div class="line[^>]*>(.*?)</div>', found)
        assert [plain(row) for row in rows] == [
            *["self.B = nn.Linear(k, m, bias=False)", "weights = a.softmax(-1)",
              "return self.B(weights)"][:count], *([more] if more else []),
        ]  # fmt: skip
    assert excerpt(listing, CIRCUIT, False, frozenset({"n9"})) == ""
    whole = excerpt(listing, CIRCUIT, False)
    assert plain(whole).count("    def forward") == 1 and whole.count('<div class="line') == len(
        listing
    )
    assert whole.count('tabindex="0"') == whole.count("data-select=") == 6


# --- differences ----------------------------------------------------------------------------------


def rows(old: list[str], new: list[str]) -> list[str]:
    return re.findall(r'<div class="line[^>]*>(.*?)</div>', plain_rows(diff_html(old, new)))


def plain_rows(html: str) -> str:
    return re.sub("</?(?:del|ins|b)>", "", html)


def test_unchanged_lines_far_from_a_change_are_left_out() -> None:
    old, new = [*"abcdefgh"], [*"abcdefg", "x = 2"]
    assert rows(old, new) == ["… 4 lines alike", "e", "f", "g", "h", "x = 2"]
    assert rows(["x", *"abcde"], ["y", *"abcde"]) == ["x", "y", *"abc", "… 2 lines alike"]
    assert rows(["x", *"abcd"], ["y", *"abcd"]) == ["x", "y", *"abc", "… 1 line alike"]
    assert rows(["a", "b"], ["b"]) == ["a", "b"]
    assert rows(["a"], ["b"]) == ["a", "b"]
    assert diff_html(old, old) == diff_html([], []) == ""


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("x = 1", "x = 2", ("x = <b>1</b>", "x = <b>2</b>")),
        ("a b", "a c", ("a <b>b</b>", "a <b>c</b>")),
        ("ab", "cd", ("ab", "cd")),
        ("a+b", "c", ("a+b", "c")),
        ("a.", "a", ("a<b>.</b>", "a")),
        ("ab.cd", "ab,ef", ("ab.cd", "ab,ef")),  # a third is alike
        ("ab.", "ab,", ("ab<b>.</b>", "ab<b>,</b>")),  # half is
        ("<a>", "<b>", ("&lt;<b>a</b>&gt;", "&lt;<b>b</b>&gt;")),
    ],
)
def test_only_lines_that_are_half_alike_are_compared_word_by_word(old, new, shown) -> None:
    assert _pair(old, new) == shown


# --- drawings with other blocks collapsed ---------------------------------------------------------

INNER, OUTER = Block(Softmax("m:3") >> Softmax("m"), "In"), "Out"
NESTED = Block(INNER >> Softmax("m"), OUTER) >> Block(Softmax("m") >> Softmax("m"), "Last")
AROUND = {"f0": "", "f1": "f0", "f2": ""}


def names(found) -> list[str]:
    return [state_name(shut) for shut in found]


def test_a_block_is_inside_of_those_around_it() -> None:
    pairs = {(id, block) for id in AROUND for block in AROUND if _is_inside(id, block, AROUND)}
    assert pairs == {("f0", "f0"), ("f1", "f1"), ("f1", "f0"), ("f2", "f2")}


def test_states_are_reached_one_block_at_a_time() -> None:
    found = states(NESTED, AROUND, "names")
    assert names(found)[0] == ""
    assert sorted(names(found)) == ["", "f0", "f0 f2", "f1", "f1 f2", "f2"]
    steps = [len(shut) for shut in found]
    assert steps == sorted(steps)
    assert all(collapsed_ids(drawing) == shut for shut, drawing in found.items())
    for most in (1, 2, 5):
        assert names(states(NESTED, AROUND, "names", most=most)) == names(found)[:most]
    lengths = [len(svg(drawing)) for drawing in found.values()]
    for count in (1, 3):
        room = sum(lengths[1 : count + 1])
        assert names(states(NESTED, AROUND, "names", letters=room)) == names(found)[: count + 1]
        assert names(states(NESTED, AROUND, "names", letters=room - 1)) == names(found)[:count]


def test_drawings_are_lists_of_the_parts_that_they_share() -> None:
    found = states(NESTED, AROUND, "names")
    packed = drawing_parts({1280.0: found})
    parts = packed["parts"]
    assert parts == sorted(set(parts))
    (view,) = packed["views"]
    assert view["width"] == 1280.0
    for shut, drawing in found.items():
        assert "".join(parts[n] for n in view["states"][state_name(shut)]) == svg(drawing)


# --- the walk -------------------------------------------------------------------------------------


def test_a_repetition_is_walked_over_the_ops_that_are_drawn() -> None:
    circuit = elaborate(Repeat((Linear("m:3 -> m", "W") >> Softmax("m"),) * 3))
    assert drawn_ids(circuit) == {
        **{"n2": "n0", "n4": "n0", "n3": "n1", "n5": "n1"},
        **{"v3": "v1", "v5": "v1", "v4": "v2"},
    }
    ids = [stop.ids for stop in stops(circuit)]
    assert ids == [("v0",), ("n0", "v1"), ("n1", "v2"), ("n0", "v1"), ("n1", "v2"), ("n0", "v1"),
                   ("n1", "v6")]  # fmt: skip


def test_the_ops_of_an_equation_are_told_by_their_side() -> None:
    both = Equation(Softmax("a:3") >> Rename("a -> b"), Rename("a:3 -> b") >> Softmax("b"))
    circuit = elaborate(both)
    sided = by_side(circuit)
    assert sorted(set(sided.values())) == ["side 1", "side 2"]
    assert len(sided) == len(circuit.cells) - 1  # the first hands the inputs to both
    assert by_side(CIRCUIT) == {}


# --- texts that follow the sizes ------------------------------------------------------------------


def test_the_legend_has_the_axes_of_some_wires() -> None:
    for wires, count in ((("m",), 1), (("y", "k"), 2), ((), 0), (("z",), 0)):
        found = _rows_of(CIRCUIT, wires)
        assert re.findall('data-select="axis:(.*?)"', found) == sorted(wires, reverse=True)[:count]
        assert (found == "None.") == (count == 0)
        sizes = {"m": "6", "y": "5", "k": "4"}
        assert re.findall("<b>(.*?)</b>", found) == [
            sizes[n] for n in reversed(sorted(wires)[:count])
        ]
    bare = _rows_of(elaborate(Softmax("~m")), ("m",))
    assert "<b></b>" in bare and ">sequence<" in bare
    assert ">spatial<" in _rows_of(elaborate(Softmax("k:2") @ Id("x:2x2")), ("x",))


@pytest.mark.parametrize(
    ("op", "dom", "words", "computed"),
    [
        (Top("e -> k:2"), "e:5", ["the # largest along e, and their places"], set()),
        (Conv("k h x -> c:4 x", "conv", 3, 1, None, True, 2, 2), "k:2 h:3 x:6",
         ["Conv conv"], set()),
        (Conv("c x -> d:4 x/s", "conv", 3, 2), "c:2 x:7", [], {"x/s"}),
        (Window("x -> y w", 3), "x:5", [], {"w", "y"}),
        (Softmax("m"), "y:2 m:3", [], set()),
        (Linear("m -> k:4", "A"), "y:2 m:3", [], set()),
    ],
)  # fmt: skip
def test_words_that_follow_a_size_and_sizes_that_are_computed(op, dom, words, computed) -> None:
    """Groups that are as many as the heads are so at these sizes only: the op's label is left."""
    term = Id(dom) >> op
    circuit = elaborate(term)
    live = SizeDependentTexts(parametric_term(term, circuit), circuit)
    found = [re.sub("[\ue000-\uf8fe]", "#", text) for text in dict(live._words()).values()]
    assert found == words
    assert computed_axes(circuit, {}) == computed
    assert computed_axes(circuit, dict.fromkeys(computed)) == set()
    assert computed_axes(elaborate(Id(re.sub(r":\d+", "", dom)) >> op), {}) == set()


def test_only_loops_along_an_axis_have_its_size() -> None:
    size = SizeTrace().size("t", 7)
    array = (Axis("m", 3), Axis("t", size))
    inputs = [SimpleNamespace(array=(Axis("t", 4),)), SimpleNamespace(array=array)]

    def sizes(**changes: object) -> list[tuple[str, str]]:
        scan = {"id": "l0", "axis": "t", "states": 1, "inputs": inputs, **changes}
        return [*loop_sizes(SimpleNamespace(scans=[SimpleNamespace(**scan)]))]

    ((id, text),) = sizes()
    assert id == "l0" and len(text) == 1
    assert sizes(axis="m") == sizes(states=0) == []  # these sizes are numbers
    repeated = ncd.elaborate(ncd.catalogue["encoder-block"].build(n=3))
    assert repeated.loops and not [*loop_sizes(repeated)]


def test_an_array_is_asked_for_if_it_is_new_and_its_sizes_are_known() -> None:
    copied = elaborate(Id("y:2 m:3") >> ncd.Copy("y m") >> Softmax("m") @ Id("y m"))
    softmax = {"of": "Softmax", "node": "n1", "axes": [0, 1], "taken": ("y", "m")}
    assert _arrays(copied, copied)["arrays"] == {"v3": softmax}
    free = elaborate(Id("y m:3") >> Softmax("m"))
    assert _arrays(free, free)["arrays"] == {}


@pytest.mark.parametrize(("most", "end"), [(None, LARGEST), (48, 48), (LARGEST + 1, LARGEST)])
def test_a_size_ends_at_its_limit_or_at_the_largest_one(most: int | None, end: int) -> None:
    facts = size_data(Knob("n", 1, 8, 2, most=most))
    assert (facts["least"], facts["most"], "help" in facts) == (1, end, False)


def test_texts_of_a_system_that_is_none_of_the_catalogue_say_where_it_is_from() -> None:
    entry = ncd.catalogue["lora"]
    assert entry_page.page_texts(entry) == entry_page.prose(entry_page.file(entry))
    own = replace(entry, name="own", source="net.py")
    assert entry_page.page_texts(own) == {"LEAD": "Read from `net.py`."}


def test_a_step_of_the_walk_has_a_title_and_words() -> None:
    first, *_, last = stops(CIRCUIT)
    assert step_words(first, {}, (), "!", False) == ("What goes in", "")
    for scanned, note in ((("n2",), "!"), ((), "")):
        title, words = step_words(last, {"n2": "side 1"}, scanned, "!", False)
        assert plain(title) == "Linear B side 1"
        assert words == f"<p>Learned linear map B, k to m.{note}</p>"
