"""A text that is often pasted and holds no term is refused in words that say what it is."""

from __future__ import annotations

import pytest

from ncd.notation.term_reader import TextError
from ncd.read.recognise import is_source, read_any

TRACEBACK = """Traceback (most recent call last):
  File "/home/me/train.py", line 41, in <module>
    out = model(x)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x9216 and 400x120)
"""
MESSAGE = (
    "this is the message of an error, not the code that it is about. "
    "Try the class that fails, with its call as the last line."
)
SHAPE = (
    "this is a shape, without a layer that takes it. "
    "Try a line above it, such as nn.Conv2d(3, 64, 7)."
)
TERM = 'a term, such as Linear("m:128 -> k:16", "Q") >> Softmax("k")'
TEXTS = {
    TRACEBACK: f"column 1: {MESSAGE}",
    TRACEBACK.splitlines()[-1]: f"column 1: {MESSAGE}",
    "1x3x224x224": f"column 1: {SHAPE}",
    "(2, 8)": f"column 1: {SHAPE}",
    "nn.Linear": "column 1: nn.Linear stands here without its arguments. Try nn.Linear(…).",
    "x @ y": f"column 1: there is nothing called 'x'. Try {TERM}.",
    "pip install torch": f"column 5: the text is no code from here on. Try {TERM}.",
    "Linear(2nd)": f"column 8: a number and a word stand together here. Try {TERM}.",
    "from tensorflow import keras\nclass Net(keras.Model): pass": (
        "column 6: this is written for TensorFlow, and PyTorch is what is read here. "
        "Try the same layers of torch.nn, such as nn.Linear(8, 3)."
    ),
    "rearrange(torch.eye(3), 'a b -> b a')": (
        "column 1: an array is only named here, and its shape is not read. "
        "Try a name, and its shape on a line below, such as 2x3."
    ),
}


def test_one_statement_with_a_function_of_torch_is_source() -> None:
    assert is_source("torch.relu(x)") and is_source("torch.randn(2, 3) @ torch.randn(3, 4)")
    assert not is_source("x @ y")


def test_what_imports_torch_is_read_whatever_else_it_imports() -> None:
    assert is_source("import jax\nimport torch\nclass Net(torch.nn.Module): ...")
    assert not is_source("import jax\nclass Net(nn.Module): ...")


@pytest.mark.parametrize(("text", "message"), TEXTS.items(), ids=range(len(TEXTS)))
def test_a_visitor_is_not_shown_python_s_own_words(text: str, message: str) -> None:
    assert not is_source(text)
    with pytest.raises(TextError) as error:
        read_any(text)
    assert str(error.value) == f"line 1, {message}"
