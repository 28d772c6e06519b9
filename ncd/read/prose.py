"""The code in a text that has words around it, such as a question, a fence or a traceback."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from textwrap import dedent

from ncd.notation.call_form import shape_line

# --- Lines that are words, and no code

LONGEST = 100_000  # letters of a text that is looked through
FENCE = re.compile(r"\s*(```|~~~)")
CODE = re.compile(r"\b(nn|torch|F|einops)\.\w|^class \w|\b(rearrange|reduce|repeat)\(", re.M)
WORD = re.compile(r"[-*(\"'`]*[A-Za-z][A-Za-z'’`/-]*[\"'`)]*[.,:;!?…)]*")
NUMBER = re.compile(r"[\d.,:;/x×%()\[\]=*+-]+")
OUTPUT = re.compile(
    r"Traceback|Out ?\[\d*\]:|In ?\[\d*\]:|torch\.Size\(|tensor\(|\w*(Error|Exception|Warning)\b"
)
COMMAND = re.compile(r"[%!?]")  # of a notebook's cell
KEYWORDS = re.compile(
    r"(class|def|import|from|for|while|if|elif|else|return|with|try|except|finally|raise|assert"
    r"|async|lambda|print|del|global)\b|self\.|@"
)
CONTINUATION = re.compile(r"[ \t)\]}]|(else|elif|except|finally)\b|@")
FURTHEST = 30  # lines that a statement goes on for after those that begin it
NEAREST = 10  # last lines of those that may be none of it
INCOMPLETE = 0x4000  # a flag of compile, as the library's codeop has it
DEEPEST = 20  # indentations, one in another, that are taken away


def comment_prose(text: str) -> str:
    """Returns a text whose lines of words are comments, with as many lines; code stays as it is.

    What stands in a fence, or indented below words, loses its indentation. A text without words,
    or without a line of PyTorch, stays as it is, so that what is wrong with its code is told.

    >>> print(comment_prose("Why does this fail?\\n```\\nnn.Linear(3, 4)(x)\\n```\\nThanks!"))
    # Why does this fail?
    # ```
    nn.Linear(3, 4)(x)
    # ```
    # Thanks!
    """
    if len(text) > LONGEST or CODE.search(text) is None or _parses([shape_line(text)[0]]):
        return text
    lines = text.split("\n")
    found = _lines_with_fences(lines) if any(map(FENCE.match, lines)) else _sorted_lines(lines)
    code = "\n".join(line for line in found if not line.startswith("#"))
    return "\n".join(found) if CODE.search(code) else text


def _lines_with_fences(lines: Sequence[str]) -> list[str]:
    """Returns lines of which those outside of fences are comments."""
    found: list[str] = []
    inside: list[str] | None = None
    for line in lines:
        if FENCE.match(line):
            found += _sorted_lines(_dedent(inside)) if inside is not None else []
            inside = [] if inside is None else None
            found.append(f"# {line.strip()}")
        elif inside is not None:
            inside.append(line)
        else:
            found.append(_comment(line))
    return found + (_sorted_lines(_dedent(inside)) if inside is not None else [])


def _sorted_lines(lines: Sequence[str], depth: int = 0) -> list[str]:
    """Returns lines of which those that are words are comments."""
    found: list[str] = []
    while len(found) < len(lines):
        start = len(found)
        line = lines[start]
        end = _statement_end(lines, start)
        if not line.strip():
            found.append(line)
        elif line[0] in " \t" and depth < DEEPEST:  # below words, as forums write code
            block = takewhile(lambda one: not one.strip() or one[0] in " \t", lines[start:])
            found += _sorted_lines(_dedent([*block]), depth + 1)
        elif end > start and not _is_aside(lines[start:end]):
            found += lines[start:end]
        elif end > start or _is_words(line):
            found += _commented_block(lines, start)
        else:  # code with an error, which is told
            end = _block_end(lines, start + 1)
            found += lines[start:end]
    return found


def _commented_block(lines: Sequence[str], start: int) -> Iterator[str]:
    """Yields a line of words as a comment; behind an output or a traceback also what it holds."""
    yield _comment(lines[start])
    if OUTPUT.match(lines[start]):
        for line in lines[start + 1 : _block_end(lines, start + 1)]:
            yield _comment(line)


def _statement_end(lines: Sequence[str], start: int) -> int:
    """Returns where the statement ends that begins at a line; the line itself if none does.

    A bracket that nothing closes takes all lines that follow, as Python reads it.
    """
    if not lines[start].strip() or lines[start][0] in " \t":
        return start
    end, last = _block_end(lines, start + 1), len(lines)
    if _is_open(lines[start:end]) and not _is_words(lines[start]):
        after = range(end + 1, min(last, end + FURTHEST) + 1)
        return next((n for n in after if _parses(lines[start:n])), last)
    ends = range(end, max(start, end - NEAREST), -1)
    return next((n for n in ends if _parses(lines[start:n])), start)


def _block_end(lines: Sequence[str], start: int) -> int:
    """Returns the first line from one on that does not belong to the lines before it."""
    end = start
    for i in range(start, len(lines)):
        if lines[i].strip() and not CONTINUATION.match(lines[i]):
            break
        end = i + 1 if lines[i].strip() else end
    return end


def _is_aside(lines: Sequence[str]) -> bool:
    """Returns whether a statement is hardly meant: a word, an output, the name of an error."""
    if not _parses(lines):
        return False
    source = "\n".join(lines)
    match ast.parse(source).body:
        case [ast.AnnAssign(value=None)]:
            return True
        case [ast.Expr(value=ast.Call() as call)]:
            spaced = re.match(r"[\w.]+ +\(", source) is not None  # words with a remark in brackets
            return spaced or ast.unparse(call.func) in ("torch.Size", "tensor")
        case [ast.Expr(value=value)]:
            shown = isinstance(value, ast.Attribute)  # such as x.shape
            return not shown and not any(isinstance(part, ast.Call) for part in ast.walk(value))
    return False


def _is_words(line: str) -> bool:
    """Returns whether a line is a sentence, an output, or a command of a notebook.

    >>> [_is_words(each) for each in ("I tried this:", "x = f(1 2)", "!pip list", "Thanks!")]
    [True, False, True, True]
    """
    if OUTPUT.match(line) or COMMAND.match(line):
        return True
    parts = [part for part in line.split() if not NUMBER.fullmatch(part)]
    words = [part for part in parts if WORD.fullmatch(part)]
    sentence = len(words) > 3 and line.rstrip()[-1:] in ".?!:,"  # "if I call it, it fails."
    return (
        (not KEYWORDS.match(line) or sentence)
        and len(words) * 5 >= len(parts) * 3
        and bool(words or not parts)
    )


def _comment(line: str) -> str:
    return f"# {line}" if line.strip() else line


def _dedent(lines: Sequence[str]) -> list[str]:
    return dedent("\n".join(lines)).split("\n") if lines else []


def _parses(lines: Sequence[str]) -> bool:
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_open(lines: Sequence[str]) -> bool:
    """Returns whether lines begin a statement that goes on, such as one within brackets."""
    try:
        compile("\n".join(lines), "<unknown>", "exec", ast.PyCF_ONLY_AST | INCOMPLETE)
    except SyntaxError as error:
        return "incomplete input" in error.msg
    except (ValueError, RecursionError, MemoryError):
        return False
    return False
