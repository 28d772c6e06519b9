"""A question in English about a layer or an expression of torch, as source that answers it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from ncd.notation.call_form import shape_line
from ncd.read.described_input import picture_input_sizes, with_described_input
from ncd.read.prose import KEYWORDS, comment_prose
from ncd.read.recognise import strip_prompts

MOST_LETTERS = 1_000  # of a question
LAYER = re.compile(
    r"(?<![\w.])(?:torch\.)?(?:nn\.)?(?P<name>[A-Z][A-Za-z]*(?:[123]d)?)\((?=[^)]*\d|\))"
)
EXPRESSION = re.compile(r"(?<![\w.])(?:torch|F|einops|[a-z]\w{0,20})\.\w+\(")
SHAPE = re.compile(
    r"(?:torch\.Size)?[(\[]{1,2} *(?P<list>\d+(?: *[,x×] *\d+)+) *,? *[)\]]{1,2}"
    r"|(?<![\w.])(?P<bare>\d+(?: ?[x×] ?\d+)+)(?![\w.])"
)
BATCH = re.compile(r"\bbatch(?:es|[ -]size)?(?: of| is| =|=|:)* ?(?P<n>\d{1,6})\b", re.I)
LENGTH = re.compile(
    r"\b(?:length|tokens|steps|words|features|size)(?: of| is| =|=|:)* ?(?P<a>\d{1,6})\b"
    r"|\b(?P<b>\d{1,6})(?: \w+)? (?:tokens|steps|words|time ?steps|features)\b",
    re.I,
)
SIDES = re.compile(r"(Conv|ConvTranspose|MaxPool|AvgPool|BatchNorm|Adaptive\w+Pool)\w*?(\d)d")
VOCABULARY = 100
ARTICLE = re.compile(
    r"\b[Aa]n? (?=(?!is|has|of|with|and)[a-z]{2,})"
)  # which may be the name of an array too
SEARCHED_LETTERS = 40  # letters between the name of an array and its shape


def question_source(text: str) -> str:
    """Returns source that answers a question, below the question as a comment; else the text.

    What it asks about is a layer, or several in a row, or an expression; the shape of the input
    may stand in words: ``for a 224x224 image``, ``x has shape (8, 3)``.

    >>> print(question_source("What does nn.Linear(8, 3) give for an input of shape (5, 8)?"))
    # What does nn.Linear(8, 3) give for an input of shape (5, 8)?
    x = torch.randn(5, 8)
    y = nn.Linear(8, 3)(x)
    """
    if len(text) > MOST_LETTERS or not _is_english(text):
        return text
    plain = text.replace("`", " ")
    layers, rest = _layers(plain)
    lines = _layer_lines(layers, rest) if layers else _expression_lines(plain)
    if not lines:
        return text
    head = [f"# {line}" if line.strip() else "#" for line in text.strip().split("\n")]
    return "\n".join([*head, *lines])


def pasted_code(text: str) -> str:
    """Returns the code of a text as somebody pastes it: without prompts, its words as comments.

    A question in English is followed by the source that answers it, and a class that nothing calls
    by the shape of the input of which the words tell.

    >>> pasted_code(">>> x = 1"), pasted_code("Linear(3, 4) of (2, 3)?").split("\\n")[1]
    ('x = 1', 'x = torch.randn(2, 3)')
    """
    text = strip_prompts(text)
    found = comment_prose(text)
    return with_described_input(found) if found != text else question_source(text)


def _is_english(text: str) -> bool:
    """Returns whether a text is words with code in between, and no code as a whole."""
    bare = text.strip()
    begins = re.match(r"[\"'#]*[A-Za-z][a-z'’]*,? +(?:[a-z'’]+|nn|torch|`)", bare) is not None
    code = any(map(KEYWORDS.match, bare.split("\n"))) and not bare.endswith("?")
    return (begins or bare.endswith("?")) and not code and not _parses(shape_line(bare)[0], "exec")


# --- A question about layers


def _layers(text: str) -> tuple[list[tuple[str, str]], str]:
    """Returns the layers of a question, each its name and its call, and the words around them."""
    found, rest, end = [], "", 0
    for match in LAYER.finditer(text):
        close = _close(text, match.end() - 1)
        if match.start() < end or close < 0 or not _is_layer(match["name"]):
            continue
        found.append((match["name"], f"nn.{match['name']}{text[match.end() - 1 : close]}"))
        rest, end = f"{rest}{text[end : match.start()]} … ", close
    return found, rest + text[end:]


def _is_layer(name: str) -> bool:
    from torch import nn  # a heavy import, for a question alone

    kind = getattr(nn, name, None)
    return isinstance(kind, type) and issubclass(kind, nn.Module)


def _layer_lines(layers: list[tuple[str, str]], words: str) -> list[str]:
    """Returns the lines that call layers on the input of which a question speaks."""
    calls = [call for _, call in layers]
    made = calls[0] if len(calls) == 1 else f"nn.Sequential({', '.join(calls)})"
    if not all(map(_parses, calls)):
        return []
    shape = _input_shape(layers[0], words)
    if not shape:
        return [f"layer = {made}"]
    sizes = ", ".join(map(str, shape))
    first = f"torch.randn({sizes})"
    if layers[0][0] in ("Embedding", "EmbeddingBag"):
        rows = next(iter(_arguments(calls[0])), VOCABULARY)
        first = f"torch.randint(0, {rows}, {shape})"
    given = "x, x, x" if layers[0][0] == "MultiheadAttention" else "x"
    return [f"x = {first}", f"y = {made}({given})"]


def _input_shape(layer: tuple[str, str], words: str) -> tuple[int, ...]:
    """Returns the shape of the input that words speak of, with a batch and channels; else none."""
    name, call = layer
    given = max((_sizes(match) for match in SHAPE.finditer(words)), key=len, default=())
    batch = BATCH.search(words)
    count = int(batch["n"]) if batch else 1
    length = LENGTH.search(words)
    if not given and length is not None:
        given = (int(length["a"] or length["b"]),)
    arguments = _arguments(call)
    sides = int(found[2]) if (found := SIDES.match(name)) else 0
    if not given:
        return (count, arguments[0]) if batch and name == "Linear" and arguments else ()
    if not sides:
        return (count, *given) if batch and given[0] != count else given
    channels = arguments[0] if arguments and "Pool" not in name else 1
    return tuple(picture_input_sizes([*given], sides, channels, count))


def _arguments(call: str) -> list[int]:
    """Returns the whole numbers among the first arguments of a call, with or without names."""
    node = ast.parse(call.strip(), mode="eval").body
    if not isinstance(node, ast.Call):
        return []
    values = [*node.args, *(word.value for word in node.keywords)]
    return [v.value for v in values if isinstance(v, ast.Constant) and type(v.value) is int]


# --- A question about an expression


def _expression_lines(text: str) -> list[str]:
    """Returns the lines that make the arrays of an expression, and compute it."""
    for match in EXPRESSION.finditer(text):
        code = _chain(text, match.start())
        if not code.endswith((")", "]")) or not _parses(code):
            continue
        names = {n.id for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Name)}
        free = sorted(names - {"torch", "F", "nn", "einops"})
        arrays = dict(_named_shapes(text.replace(code, "…"), {*free}))
        if not all(name in arrays for name in free):
            continue
        made = [f"{name} = torch.randn({', '.join(map(str, arrays[name]))})" for name in free]
        return [*made, f"y = {code}"]
    return []


def _named_shapes(text: str, names: set[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the arrays of which words tell a shape: ``a is (2, 3)``, ``x of shape [4]``."""
    text = ARTICLE.sub("", text)
    for match in SHAPE.finditer(text):
        words = re.findall(
            r"[A-Za-z_]\w*", text[max(0, match.start() - SEARCHED_LETTERS) : match.start()]
        )
        if named := [word for word in words if word in names]:
            yield named[-1], _sizes(match)


def _chain(text: str, start: int) -> str:
    """Returns the expression that begins at a letter: names, dots, and brackets."""
    end = start
    while end < len(text):
        if text[end] in "([":
            close = _close(text, end)
            if close < 0:
                break
            end = close
        elif text[end].isalnum() or text[end] == "_" or re.match(r"\.[A-Za-z]", text[end:]):
            end += 1
        elif more := re.match(r" *[-+*/@] *(?=[A-Za-z(])", text[end:]):
            end += more.end()
        else:
            break
    return re.sub(r"\.(shape|size\(\))$", "", text[start:end])


# --- Brackets and sizes


def _close(text: str, start: int) -> int:
    """Returns the letter behind the bracket that closes the one at a letter; -1 without one."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i + 1
    return -1


def _sizes(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", match["list"] or match["bare"]))


def _parses(source: str, mode: Literal["eval", "exec"] = "eval") -> bool:
    try:
        ast.parse(source, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
