"""What the pages without a server run: the weights and inputs that the app opens on."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import pytest
import torch

import ncd
from ncd.circuit.elaborate import elaborate
from ncd.site.browser_run import Example, entry_model, walk
from ncd.site.document import DOCUMENT_JS
from ncd.site.site_files import LOADER_JS, RUN_JS
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import opening_inputs
from ncd.systems.training.trained_weights import (
    FILTER_WRITERS,
    read_note,
    read_weights,
    shipped_file,
)

KEPT = re.compile(r'"name":"([^"]+)"[^{}]*"kept":\["([^"]+)",(\d+)\]')
SHIPPED = [entry for entry in ncd.catalogue.values() if shipped_file(entry, {})]


@pytest.mark.parametrize("entry", SHIPPED, ids=lambda entry: entry.name)
def test_systems_open_on_shipped_weights_and_an_example(entry: Entry) -> None:
    model, term = entry_model(entry), entry.build()
    assert model.facts
    data = shipped_file(entry, {})
    assert data
    note = read_note(data)
    made = note.get("origin") or f"trained for {int(note['steps']):,} steps from seed"
    assert f"Weights {made}" in model.facts["said"][0]
    assert ("trained" in made) != (entry.name in FILTER_WRITERS)  # written by hand
    feed = opening_inputs(entry, term)
    inputs = zip(model.facts["inputs"], feed.tensors(term, 0, "cpu"), strict=True)
    known = {**dict(inputs), **read_weights(ncd.compile(term), data).state_dict()}
    kept = KEPT.findall(model.facts["run"]["text"])
    assert model.facts["learned"] and {name for name, *_ in kept} > {*model.facts["kept"]}
    assert model.facts["kept"] or feed.is_random
    for name, file, at in kept:
        x = known[name].float().flatten()
        found = np.frombuffer(model.files[file], np.float32)[int(at) :][: x.numel()]
        assert torch.equal(torch.tensor(found), x), name


def test_words_stand_along_the_axes_of_attention_and_the_symbols_along_the_answers() -> None:
    entry = ncd.catalogue["reversal"]
    facts = entry_model(entry).facts
    assert facts
    read = "".join(opening_inputs(entry, entry.build()).words["t"])
    words = {name: "".join(line) for name, line in facts["words"].items()}
    assert words == {"t": read, "y": read, "x": read, "v": "abcdefghijkl"}


def test_a_sentence_may_be_as_long_as_the_weights_allow_and_is_random_beyond() -> None:
    entry = ncd.catalogue["multi-head-attention"]
    model, example = entry_model(entry), Example.from_entry(entry)
    assert model.facts and model.facts["within"] == {"y": 24, "x": 24}
    assert model.facts["exactly"] == {"h": 4, "k": 16, "m": 128}
    term, settings = entry.build(y=5), entry.settings({"y": 5})
    short = opening_inputs(entry, term, settings).tensors(term, 0, "cpu")
    assert torch.equal(short[0], example.numbers[0][:5])


def test_the_settings_of_windows_and_the_limits_follow_sizes() -> None:
    facts = entry_model(ncd.catalogue["convnext"]).facts
    assert facts
    run = facts["run"]
    sums = [[tuple(own) for own in each] for each in run["sums"]]
    c, r = run["atoms"].index("c"), run["atoms"].index("r")
    letters = [sums[place] for place, _ in run["letters"]]
    kernel, pad, groups = ([(2, r), (1,)], [(1, r)], [(1, c)])
    assert kernel in letters and pad in letters and groups in letters
    assert facts["stays"] == {} and facts["exactly"] == {"x": 64}


def test_a_system_without_an_example_runs_on_random_arrays_at_all_sizes() -> None:
    model = entry_model(ncd.catalogue["layer-norm"])
    assert model.facts and model.facts["within"] == {} and list(model.files) == ["layer-norm.onnx"]


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_every_array_of_a_step_is_known(entry: Entry) -> None:
    """But those inside scans, which are made anew at every position."""
    circuit, model = elaborate(entry.build()), entry_model(entry)
    if model.facts is None:
        return
    bodies = [body for loop in circuit.loops if loop.kind == "scan" for body in loop.bodies]
    inside = {id for body in bodies for id in body.values}
    assert json.dumps(model.facts)
    part = walk(circuit)
    for made in part.split('data-makes="')[1:]:
        ids = set(made.partition('"')[0].split())
        assert ids - inside <= model.facts["arrays"].keys()


def test_no_two_scripts_of_a_page_define_one_name() -> None:
    """They share one scope, as later ones are loaded into the page."""
    lines = re.compile(r"^(?:async )?(?:function|const|let) (\w+)", re.MULTILINE)
    names = Counter(lines.findall(DOCUMENT_JS + LOADER_JS + RUN_JS))
    assert names["load_run"] == names["pictured"] == 1
    assert [name for name, n in names.items() if n > 1] == []
