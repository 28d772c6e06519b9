"""The shape of an input that the words around a source tell, where the source calls nothing."""

from __future__ import annotations

import re

from ncd.notation.call_form import shape_line

CALL = re.compile(r"^(?!\s|#|class |def |@).*\w\(", re.M)  # outside of all classes
CLASS = re.compile(r"^class \w+\(.*Module\):", re.M)
NAMED_BY_TORCH = re.compile(r"(?:expected input|input of size:? ?)\[(?P<sizes>\d+(?:, \d+)+)\]")
ROWS = re.compile(r"cannot be multiplied \((?P<rows>\d{1,6})x")
ERROR = re.compile(r"# *(Traceback|\w*Error|  )")
SHAPE = re.compile(
    r"\b(?:inputs?|images?|pictures?|frames?|samples?|data|tensors?|batch(?:es)?|x|shapes?|sizes?)\b"
    r"[^.?!\d]{0,40}?[(\[]{0,2}(?P<sizes>\d{1,5}(?: ?[x×,] ?\d{1,5})+)"
)
CONVOLUTION = re.compile(r"nn\.Conv(?P<sides>[123])d\((?:in_channels=)?(?P<channels>\d+)?")
MOST_SIZES = 5


def with_described_input(text: str) -> str:
    """Returns a source with the shape of the input as its last line, if only its remarks tell it.

    A message of torch names the whole input; a sentence may leave out the batch and the channels.

    >>> net = "# My images are 28x28.\\nclass Net(nn.Module):\\n    conv = nn.Conv2d(1, 8, 3)"
    >>> print(with_described_input(net).split("\\n")[-1])
    # 1x1x28x28
    """
    if CLASS.search(text) is None or CALL.search(text) or shape_line(text)[1]:
        return text
    remarks = [line for line in text.split("\n") if line.startswith("#")]
    sizes = _input_of_message(remarks) or _input_of_words(remarks, text)
    return f"{text.rstrip()}\n# {'x'.join(map(str, sizes))}" if sizes else text


def _input_of_message(remarks: list[str]) -> list[int]:
    """Returns the input that a message of torch names."""
    found = NAMED_BY_TORCH.search("\n".join(remarks))
    return _numbers(found["sizes"]) if found else []


def _input_of_words(remarks: list[str], text: str) -> list[int]:
    """Returns the input of which a sentence tells, with its batch and its channels."""
    words = "\n".join(line for line in remarks if not ERROR.match(line))
    shapes = [_numbers(found["sizes"]) for found in SHAPE.finditer(words)]
    sizes = max((one for one in shapes if len(one) <= MOST_SIZES), key=len, default=[])
    rows = ROWS.search("\n".join(remarks))
    batch = int(rows["rows"]) if rows else 1
    layer = CONVOLUTION.search(text)
    if not sizes or layer is None:
        return sizes
    sides, channels = int(layer["sides"]), int(layer["channels"] or 0)
    if len(sizes) == sides and not channels:
        return []
    return picture_input_sizes(sizes, sides, channels, batch)


def picture_input_sizes(sizes: list[int], sides: int, channels: int, batch: int) -> list[int]:
    """Returns the sizes of an input of pictures, with the batch and the channels that words omit.

    Channels that stand last, as pictures are kept in files, come before the ``sides``.

    >>> picture_input_sizes([28, 30], 2, 3, 8), picture_input_sizes([28, 30, 3], 2, 3, 1)
    ([8, 3, 28, 30], [1, 3, 28, 30])
    """
    if len(sizes) == sides + 1 and sizes[-1] == channels != sizes[0]:
        sizes = [channels, *sizes[:-1]]
    if len(sizes) == sides:
        sizes = [channels, *sizes]
    return [batch, *sizes] if len(sizes) == sides + 1 else sizes


def _numbers(words: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", words)]
