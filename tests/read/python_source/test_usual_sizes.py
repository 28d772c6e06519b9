"""Values that are usual for the name of an argument, or for what it is given to."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from ncd.read.python_source import source_reader
from ncd.read.python_source.interpreter import ClassValue, Scope, SourceFunction
from ncd.read.python_source.model_choice import first_step
from ncd.read.python_source.usual_sizes import NO_USUAL_VALUE, call_text, size_of, usual_value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d_model", 64),
        ("D_MODEL", 64),
        ("num_heads", 4),
        ("dropout", 0.0),
        ("attn_dropout_rate", 0.0),
        ("use_bias", False),
        ("learnable_pos", False),
        ("decoder_eps", 1e-5),
        ("bos_idx", 0),
        ("mask_ids", NO_USUAL_VALUE),
        ("num_res_blocks", 2),
        ("decoder_layers", 2),
        ("cross_heads", 4),
        ("fine_classes", 10),
        ("text_vocab", 1000),
        ("text_tokens", 1000),
        ("text_len", 32),
        ("stem_kernel", 3),
        ("local_img_size", 64),
        ("local_patch_size", 16),
        ("cond_channels", 64),
        ("ndf", 64),
        ("dim_cond", 64),
        ("depths", (2, 2, 2, 2)),
        ("device", "cpu"),
        ("model_type", None),
        ("anything", NO_USUAL_VALUE),
    ],
)
def test_a_name_has_a_usual_value(name: str, value: Any) -> None:
    assert usual_value(name) == value and type(usual_value(name)) is type(value)


def test_a_call_is_written_with_plain_values() -> None:
    assert call_text("Net", {"a": 1, "b": (2, 3), "c": [1], "d": None}) == (
        "Net(a=1, b=(2, 3), c=…, d=None)"
    )


SOURCE = """
class Inner(nn.Module):
    def __init__(self, width, q, z=3):
        self.a = nn.Linear(width, q)
class Net(nn.Module):
    def __init__(self, p, m, k, q, s, o, unused):
        self.a = nn.Dropout(p)
        self.b = nn.LayerNorm(m)
        self.c = [nn.Conv2d(3, k, 3) for _ in range(s)]
        self.d = Inner(q, q)
        self.e = other(o)
        self.f = nn.Linear(in_features=k, out_features=q)
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("p", 0.0),
        ("m", 64),
        ("k", 64),  # the larger one of channels that are made and features that are taken
        ("q", 64),  # through another class
        ("s", 2),  # turns of a loop
        ("o", NO_USUAL_VALUE),
        ("unused", NO_USUAL_VALUE),
        ("num_heads", 4),  # its name says it
    ],
)
def test_an_argument_is_as_large_as_what_it_is_given_to(name: str, value: Any) -> None:
    machine, scope, tree = source_reader.new_machine(), Scope(), ast.parse(SOURCE)
    machine.run(tree.body, scope)
    net = scope.names["Net"]
    assert isinstance(net, ClassValue)
    begin = first_step(machine, net)
    assert isinstance(begin, SourceFunction)
    assert size_of(name, begin, scope, lambda kind: first_step(machine, kind)) == value
