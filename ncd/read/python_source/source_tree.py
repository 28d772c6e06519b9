"""The syntax tree of a source, and the room that its interpretation needs."""

from __future__ import annotations

import ast
import re
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
PRIVATE = re.compile(r"\b__\w*[^\W_]_?\b")  # a name that Python keeps apart for each class
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
    if PRIVATE.search(text):
        _name_private_parts(tree)
    return tree


def _name_private_parts(tree: ast.Module) -> None:
    """Puts the name of a class before the private names in it, as Python does.

    >>> tree = ast.parse("class A:\\n  def __f(self):\\n    return self.__b + self.__len__()")
    >>> _name_private_parts(tree)
    >>> print(ast.unparse(tree.body[0].body[0]))
    def _A__f(self):
        return self._A__b + self.__len__()
    """
    kinds = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
    for kind in reversed(kinds):  # the inner ones first
        for node in (one for part in kind.body for one in ast.walk(part)):
            for place in ("id", "attr", "name", "arg"):
                name = getattr(node, place, None)
                if isinstance(name, str) and PRIVATE.fullmatch(name):
                    setattr(node, place, f"_{kind.name.lstrip('_')}{name}")


@contextmanager
def deep() -> Iterator[None]:
    """Raises Python's recursion limit to what the interpreter needs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
