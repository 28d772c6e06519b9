"""Functions of a pasted source that a page does not call are drawn, and never run."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.app.scene.own_entry import custom_entry
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from tests.app.page.test_own_page import editor, write, yours
from tests.app.page.test_pages import fine

NET = "class Net(nn.Module):\n    def forward(self, x):\n        return {}\n"


def test_a_function_of_a_source_that_the_page_does_not_call_is_a_box_without_values() -> None:
    source = (
        "class Net(nn.Module):\n    def forward(self, x):\n        return x.cummax(-1)[0]\n2x4x8"
    )
    app = yours()
    write(app, source)
    fine(app)
    assert "Read as PyTorch source." in editor(app)["told"]
    assert any(shown.value == "**Values end here.**" for shown in app.markdown)
    assert [shown.value for shown in app.text] == [
        "values end here: cummax of torch is drawn, and not run. Try ncd.from_torch on your own "
        "machine, which runs it."
    ]
    term = custom_entry(source).build()
    (box,) = [cell.op for cell in elaborate(term).cells if cell.op.torch_function]
    assert box.torch_function == "closed.cummax" and not hasattr(torch.ops.closed, "cummax")
    assert [array.shape for array in term.cod] == [(2, 4, 8)]
    with pytest.raises(NCDError, match="values end here"):
        ncd.compile(term)


def test_a_source_names_no_function_by_itself_and_a_listed_one_still_runs() -> None:
    source = (
        "class Net(nn.Module):\n    def forward(self, x):\n        return torch.atan2(x, x)\n2x4"
    )
    assert ncd.compile(custom_entry(source).build())(torch.ones(2, 4)).shape == (2, 4)
    text = 'Opaque("m:4 -> m:4", "closed.from_file", "a")'
    with pytest.raises(NCDError, match="values end here"):
        ncd.compile(custom_entry(text).build())
