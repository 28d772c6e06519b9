"""The syntax tree of a source, and the room that its interpretation needs."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ncd.notation.term_reader import TextError, syntax_error
from ncd.read.python_source.interpreter import error_at
from ncd.read.recognise import is_line

LONGEST = 200_000  # letters of a source
NODES = 60_000  # of its syntax tree
DEEP = 12_000  # frames of Python that the interpreter may use
EXAMPLE = "class Net(nn.Module): …"
LINE = "nn.Linear(3, 4)(torch.randn(2, 3))"  # an example of a text of one line


def syntax_tree(text: str) -> ast.Module:
    """Returns the syntax tree of a source of bounded size."""
    if len(text) > LONGEST:
        raise TextError(f"it has {len(text):,} letters, at most {LONGEST:,} are read", 1, 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is odd in a text; to tell, Python reads files
            tree = ast.parse(text)
    except SyntaxError as error:
        raise syntax_error(error, LINE if is_line(text) else EXAMPLE) from None
    except (ValueError, RecursionError, MemoryError):
        raise TextError("it is nested too deep, or holds a letter that no text has", 1, 1) from None
    for count, node in enumerate(ast.walk(tree), 1):
        if count > NODES:
            raise error_at(node, f"it has more than {NODES:,} parts", "a shorter text")
    return tree


@contextmanager
def deep() -> Iterator[None]:
    """Raises Python's recursion limit to what the interpreter needs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
