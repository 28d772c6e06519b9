"""Code is found in texts as people paste them: with words, fences, outputs and tracebacks."""

from __future__ import annotations

import ast

import pytest

from ncd.read.prose import comment_prose

CODE = "class Net(nn.Module):\n    def forward(self, x):\n\n        return x.relu()\nNet()(x)"
BRANCHES = """Here's it:
@torch.no_grad()
def f(x):
    return x
if a:
    b = 1
else:
    b = 2"""
COMMENTED = {
    "words before and behind": (
        f"I'm new here, so I hope this fits.\nMy model:\n\n{CODE}\n\nAny idea? Thanks!",
        f"# I'm new here, so I hope this fits.\n# My model:\n\n{CODE}\n\n# Any idea? Thanks!",
    ),
    "a fence, within which an error is code": (
        "It's slow\n```python\nnn.Linear(3 4)\n```\nWhy",
        "# It's slow\n# ```python\nnn.Linear(3 4)\n# ```\n# Why",
    ),
    "a fence that nothing ends": ("It's\n~~~\n  F.relu(x)", "# It's\n# ~~~\nF.relu(x)"),
    "code that is indented below words": (
        "My code is\n\n    x = torch.ones(\n        2)\n    y = x.t()\n\nand it doesn't run.",
        "# My code is\n\nx = torch.ones(\n    2)\ny = x.t()\n\n# and it doesn't run.",
    ),
    "a traceback, its places and its message": (
        f'{CODE}\nTraceback (most recent call last):\n  File "a.py", line 1\n    Net()(x)\n'
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        f'{CODE}\n# Traceback (most recent call last):\n#   File "a.py", line 1\n#     Net()(x)\n'
        "# RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
    ),
    "commands and outputs of a notebook": (
        "%matplotlib inline\n!pip install einops\nx = torch.ones(2)\nx.shape\ntorch.Size([2])\n"
        "Out[3]: 2",
        "# %matplotlib inline\n# !pip install einops\nx = torch.ones(2)\nx.shape\n"
        "# torch.Size([2])\n"
        "# Out[3]: 2",
    ),
    "words that Python would read": (
        "Thanks\nimages (2, 3)\nx: int\nI'm lost\nF.relu(x)",
        "# Thanks\n# images (2, 3)\n# x: int\n# I'm lost\nF.relu(x)",
    ),
    "a decorator and branches go on": (
        BRANCHES,
        f"# {BRANCHES}",
    ),
    "a call over lines without indentation": (
        "That's the model\nm = nn.Sequential(\nnn.ReLU(),\n)",
        "# That's the model\nm = nn.Sequential(\nnn.ReLU(),\n)",
    ),
    "a bracket that ends what is indented": (
        "Look here\n   \n    x = 1\n))\nF.relu(x)",
        "# Look here\n   \nx = 1\n# ))\nF.relu(x)",
    ),
    "a bracket that nothing closes, and so all that follows": (
        "It fails\nm = nn.Sequential(nn.ReLU()\nAny idea why? Thanks!\nm(x)",
        "# It fails\nm = nn.Sequential(nn.ReLU()\nAny idea why? Thanks!\nm(x)",
    ),
    "a sentence that begins with a word of Python": (
        "If I call it with a batch, it fails.\nF.relu(x)",
        "# If I call it with a batch, it fails.\nF.relu(x)",
    ),
}


@pytest.mark.parametrize("name", COMMENTED)
def test_words_are_comments_and_code_keeps_its_lines(name: str) -> None:
    text, found = COMMENTED[name]
    assert comment_prose(text) == found
    assert comment_prose(found) == found
    assert found.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        f"{CODE}\n2x3",
        "",
        "What is attention?",
        'Linear("m:8 -> k:3") >> Softmax("k")',
        "b h i d, b h j d -> b h i j",
        "RuntimeError: shapes (2x3 and 4x5)\n    return F.linear(input, weight)",
        "class Net(nn.Module)\n    def forward(self, x):\n        return x",
        "fc = nn.Linear(3 4)\nfc(x)",
        f"It's long\n{'F.relu(x)' * 30_000}",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert comment_prose(text) == text


BAD_LINES = ("x = f(", f"x = f({'a, ' * 30}", "Thanks (", "hello you there", "  y = = 1")


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_text_is_parsed_some_times_a_line(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server does this while others wait: a bracket in each line had taken it 20 seconds."""
    seen: list[int] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text: (seen.append(len(text)), parse(text))[1])
    lines = ["F.relu(x)", *[line] * 500]
    comment_prose("\n".join(lines))
    assert sum(seen) < 20 * 500 * len(line)


def test_words_that_are_indented_deeper_and_deeper_are_told_apart_so_far() -> None:
    lines = [f"{' ' * n}words and" for n in range(1, 200)]
    found = comment_prose("\n".join(["F.relu(x)", "some words", *lines])).split("\n")
    assert len(found) == 201 and found[1:3] == ["# some words", "# words and"]
