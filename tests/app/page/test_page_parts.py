"""The parts of the pages that need no page."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from markupsafe import Markup

import ncd
from ncd.app.page import navigation
from ncd.app.page.page_head import HEADS
from ncd.app.panels.attention.attention_maps import heads_named, weights
from ncd.app.panels.walk import autograd_graph
from ncd.app.scene.refusal import without_sizes
from ncd.circuit.elaborate import elaborate
from ncd.installation import package_path
from ncd.language.axes import Type
from ncd.site import markup, source_listing
from ncd.site.entry_page import file
from ncd.systems.inputs.run_inputs import InputSpec, takes_words
from ncd.systems.inputs.text_inputs import embed, tokens
from ncd.write.torch_source.source_file import SourceLine, lines


def test_the_same_word_has_the_same_vector_until_positions_are_added() -> None:
    words = tokens("the cat and the dog")
    plain, placed = (embed(words, 16, seed=3, positions=p) for p in (False, True))
    assert torch.equal(plain[0], plain[3])
    assert not torch.equal(placed[0], placed[3])
    assert not torch.equal(plain, embed(words, 16, seed=4, positions=False))


def test_odd_features_have_positions_too() -> None:
    assert embed(["a", "b"], 5, seed=0, positions=True).shape == (2, 5)
    assert embed(["a", "b"], 1, seed=0, positions=True).shape == (2, 1)


def test_which_systems_take_sentences() -> None:
    takes = {name: takes_words(entry.build()) for name, entry in ncd.catalogue.items()}
    assert takes["multi-head-attention"]
    assert takes["scaled-dot-product-attention"]
    assert not takes["residual-block"]
    assert takes_words(ncd.Id("~y:3#v:10")) and takes_words(ncd.Id("~y:3#v:10, ~x:2 m:4"))
    assert not takes_words(ncd.Id("y:3#v:10")) and not takes_words(ncd.Id("~y:3 m:4#v:10"))


def test_words_are_whole_numbers_where_the_array_holds_them() -> None:
    feed = InputSpec({"y": ("the", "cat", "the"), "x": ("dog", "cat")})
    y, x = feed.tensors(ncd.Id("~y:3#v:10, ~x:2#v:10"), seed=0, device="cpu")
    assert y.tolist() == [0, 1, 0] and x.tolist() == [2, 1] and y.dtype == torch.int64
    (few,) = InputSpec({"y": ("a", "b", "c")}).tensors(ncd.Id("~y:3#v:2"), seed=0, device="cpu")
    assert few.tolist() == [0, 1, 0]


def test_sentences_fill_every_input_at_its_shape() -> None:
    feed = InputSpec({"y": ("a", "b"), "x": ("c", "a", "d")})
    term = ncd.catalogue["multi-head-attention"].build(y=2, x=3)
    y, x = feed.tensors(term, seed=0, device="cpu")
    assert (y.shape, x.shape) == ((2, 128), (3, 128))
    assert torch.equal(y[0], x[1])
    assert InputSpec({"y": ("ab",)}).key != InputSpec({"y": ("a", "b")}).key


def test_the_maps_of_the_heads_are_the_slices_of_the_array() -> None:
    term = ncd.catalogue["multi-head-attention"].build(h=3, y=5, x=6)
    trace = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    cell = next(c for c in elaborate(term).cells if c.op.role == "softmax")
    value = trace.values[cell.outputs[0].id]
    found = weights(cell, value)
    assert found.maps.shape == (3, 5, 6)
    assert [text_of(name) for name in heads_named(found.heads)] == [
        f"h\xa0=\xa0{n}" for n in range(3)
    ]
    assert np.allclose(found.maps[2], value[:, :, 2].detach())
    assert np.allclose(found.maps.sum(-1), 1, atol=1e-6)


def test_a_softmax_alone_has_one_row() -> None:
    term = ncd.Id("x:7") >> ncd.Softmax("x")
    trace = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    found = weights(elaborate(term).cells[0], trace.outputs[0])
    assert found.maps.shape == (1, 1, 7)
    assert found.queries is None


def test_every_text_is_escaped() -> None:
    bad = "<script>\"&'"
    assert "<script>" not in markup.text(bad)
    circuit = elaborate(ncd.Id("m:3"))
    for text in (f"x = 1  # {bad}", f'x = "{bad[:8]}"', f'x = "{bad[:8]}', f"x = {bad}"):
        assert "<script>" not in source_listing.listing_html([SourceLine(text)], circuit, False)


def test_axes_light_in_patterns_and_sizes_but_not_in_variables() -> None:
    circuit = elaborate(ncd.catalogue["multi-head-attention"].build())
    text = 'k = rearrange(self.K(x), "... (k h) -> ... k h", h=self.h)'
    html = source_listing.listing_html([SourceLine(text, ("n2",))], circuit, dark=False)
    assert html.count('data-axis="k"') == 2
    assert html.count('data-axis="h"') == 4
    assert 'data-axis="x"' not in html
    assert 'data-node="n2"' in html


def test_an_op_is_known_again_without_its_sizes() -> None:
    sized = ncd.Linear("~m:128 -> k:16 h:4", "Q")
    assert without_sizes(sized) == ncd.Linear("m -> k h", "Q")


@pytest.mark.catalogue
def test_the_listing_says_what_the_file_says() -> None:
    for entry in ncd.catalogue.values():
        term = entry.build()
        found = lines(term)
        codes = source_listing.coloured([line.text for line in found], {})
        assert [text_of(code) for code in codes] == [line.text for line in found]


def text_of(html: str) -> str:
    """What an element says, without its tags."""
    words = html.replace(">", "<").split("<")[::2]
    return str(Markup("".join(words)).unescape())


def test_a_string_of_several_lines_is_one_string_on_each() -> None:
    one, two, three = source_listing.coloured(['"""a', "", 'm b""" + 1'], {"m": "m"})
    assert one == '<span class="string">&#34;&#34;&#34;a</span>' and two == ""
    assert three.startswith('<span class="string"><span class="axis" data-axis="m">m</span> b')
    assert three.endswith('</span> + <span class="number-literal">1</span>')


def test_the_lines_of_one_op_stand_at_the_left() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    circuit = elaborate(term)
    softmax = next(c.id for c in circuit.cells if c.op.role == "softmax")
    listing = source_listing.coloured_lines(lines(term), circuit)
    html = source_listing.excerpt(listing, circuit, False, frozenset({softmax}))
    assert html.count('class="line"') == 1 and f'data-node="{softmax}"' in html
    assert not text_of(html).startswith(" ") and "softmax" in text_of(html)
    assert source_listing.excerpt(listing, circuit, False, frozenset({"n999"})) == ""


def test_an_array_of_whole_numbers_says_so() -> None:
    (array,) = Type.parse("~y:3#v:5")
    assert markup.array(array) == (
        '<i class="axis bar" data-axis="y">y</i>#<i class="axis" data-axis="v">v</i>'
    )


# --- the menu -------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_every_system_has_a_page(entry: ncd.Entry) -> None:
    path = package_path(file(entry))
    assert path.is_file(), f"the system {entry.name} has no page: write {file(entry)}"
    assert entry.section, f"the system {entry.name} is in no section of the menu"


def test_every_page_has_a_title_and_a_description_of_its_own() -> None:
    """As they stand in the page before the app runs."""
    assert {"", "legend", *ncd.catalogue} <= {*HEADS}
    titles, descriptions = zip(*HEADS.values(), strict=True)
    assert len({*titles}) == len({*descriptions}) == len(HEADS)
    assert all(descriptions)
    for name, entry in ncd.catalogue.items():
        assert HEADS[name][0] == navigation.heading(entry.title)


def test_every_page_is_in_the_menu() -> None:
    known = {
        "home.py",
        "legend.py",
        "yours.py",
        *(Path(file(entry)).name for entry in ncd.catalogue.values()),
    }
    found = {path.name for path in package_path("pages").rglob("*.py")}
    assert found <= known, f"no system of the catalogue has the page {min(found - known)}"


# --- Graphviz -------------------------------------------------------------------------------------


@pytest.fixture
def dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a program ``dot`` that is found before any other."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(autograd_graph, "PATIENCE", 0.5)
    autograd_graph.FAILED_GRAPHS.clear()
    return tmp_path / "dot"


def written(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


BROKEN = {
    "bytes that are no text": "#!/bin/sh\nprintf '\\377\\376'",
    "half a picture": "#!/bin/sh\necho '<svg><g>'",
    "an empty picture": "#!/bin/sh\necho '<svg></svg>'",
    "nothing": "#!/bin/sh\nexit 0",
    "an error": "#!/bin/sh\necho '<svg></svg>'\nexit 3",
    "no program": "\x7fELF nothing",
    "no end": "#!/bin/sh\nsleep 60",
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
def test_a_broken_layout_program_is_told_at_once_and_not_kept(
    dot: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(dot, script)
    with pytest.raises(autograd_graph.LayoutError) as caught:
        autograd_graph.laid_out("digraph {}")
    with monkeypatch.context() as patch:  # the second time it is not even tried
        patch.setattr("ncd.explain.graphviz_layout.svg", None)
        with pytest.raises(autograd_graph.LayoutError, match=re.escape(str(caught.value))):
            autograd_graph.laid_out("digraph {}")
    written(dot, "#!/bin/sh\necho '<?xml?><svg><g>well</g></svg>'")
    assert autograd_graph.laid_out("digraph { a }") == "<svg><g>well</g></svg>"
    autograd_graph.FAILED_GRAPHS.clear()  # as after a minute
    assert autograd_graph.laid_out("digraph {}") == "<svg><g>well</g></svg>"


def test_the_server_is_started_from_any_folder(tmp_path: Path) -> None:
    code = """from ncd.app.host import serve
serve.cli.main = lambda told, **_: print(*told)
serve.serve(port=8777)"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package_path())},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    settings = "--server.address 127.0.0.1 --server.port 8777"
    assert run.stdout == f"run {package_path('app.py')} {settings}\n"
