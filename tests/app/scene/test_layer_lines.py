"""Every layer of ``torch.nn`` as a line, through the entry of the page: a diagram or an error."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from torch import nn

from ncd.app.scene import own_answer, own_entry
from ncd.app.scene.own_entry import visitor_system
from ncd.errors import NCDError
from ncd.read.python_source.source_reader import read_source

SIZES: dict[str, Any] = {
    **{"in_features": 8, "out_features": 3, "in1_features": 6, "in2_features": 6},
    **{"in_channels": 3, "out_channels": 4, "kernel_size": 3, "num_features": 6},
    **{"num_channels": 6, "num_groups": 2, "normalized_shape": 8, "input_size": 8},
    **{"hidden_size": 5, "num_embeddings": 50, "embedding_dim": 12, "embed_dim": 8},
    **{"num_heads": 2, "d_model": 8, "nhead": 2, "output_size": 2, "padding": 1, "size": 3},
    **{"upscale_factor": 2, "downscale_factor": 2, "groups": 2, "dim": 1, "value": 2.0},
    **{"unflattened_size": (4, 4), "threshold": 0.1, "n_classes": 20, "num_classes": 20},
    **{"cutoffs": [5, 10], "num_layers": 1, "norm_type": 2, "bias": True, "num_chunks": 3},
    "encoder_layer": "nn.TransformerEncoderLayer(8, 2, 16)",
    "decoder_layer": "nn.TransformerDecoderLayer(8, 2, 16)",
    "module": "nn.Linear(8, 3)",
}


def line(kind: type[nn.Module]) -> str:
    """The line that makes a layer, with a value for each argument that it needs."""
    takes = inspect.signature(kind).parameters.values()
    needed = [one.name for one in takes if one.default is one.empty]
    needed = [name for name in needed if name not in ("args", "kwargs", "_")]
    if issubclass(kind, nn.RNNBase):
        needed = ["input_size", "hidden_size"]
    if kind is nn.Transformer:
        return "nn.Transformer(8, 2, 1, 1, 16)"
    return f"nn.{kind.__name__}({', '.join(f'{name}={SIZES[name]}' for name in needed)})"


LAYERS = [
    kind
    for kind in (getattr(nn, name) for name in sorted(dir(nn)))
    if isinstance(kind, type) and issubclass(kind, nn.Module) and kind is not nn.Module
]


@pytest.mark.few(20)
@pytest.mark.parametrize("kind", LAYERS, ids=lambda kind: kind.__name__)
def test_a_layer_gives_a_diagram_or_a_clear_error(
    kind: type[nn.Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_entry, "_source_reading", read_source)  # in this process
    try:
        found = visitor_system(line(kind))
        found.entry.build()
        said = own_answer.editor_message(found)
        last = said.words.removeprefix(found.costs).strip()
        assert last.startswith(("Read as a line of PyTorch.", own_answer.STOPS))
    except NCDError as error:
        said = own_answer.error_message(error, line(kind))
        assert said.is_wrong and len(said.words) < 400
        words = said.words.removeprefix("line 1, column 1: ")
        clear = ("of torch.nn is not understood here", "of which no shape is given", "this page")
        assert any(one in words for one in clear) or words.startswith(("Module", "Parameter"))
    assert "Error" not in said.words


def test_the_layers_that_most_people_use_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_entry, "_source_reading", read_source)
    for kind in (nn.Linear, nn.Conv2d, nn.LSTM, nn.MultiheadAttention, nn.Transformer, nn.Upsample):
        text = line(kind).replace("Upsample()", "Upsample(scale_factor=2)(1, 3, 4, 4)")
        assert visitor_system(text).failure is None and visitor_system(text).entry.build().count
