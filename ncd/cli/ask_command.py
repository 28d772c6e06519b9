"""The command that answers a text: what comes out, what is wrong, and the edits that cure it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import ncd
from ncd.cli.output import STDOUT, print_json
from ncd.errors import ParseError
from ncd.read.recognise import strip_prompts


def ask(args: argparse.Namespace) -> int:
    from ncd.cli.answer_text import answer_data, answer_lines

    text = strip_prompts(_text(args.file))  # as its edits are of
    answer = ncd.ask(text, args.files)
    if args.json:
        print_json(answer_data(answer))
    else:
        print("\n".join(answer_lines(answer, text)))
    return 1 if any(each.kind == "failure" for each in answer.findings) else 0


def _text(file: str) -> str:
    """Returns the text of a file, or of standard input; raises ParseError if it has none."""
    try:
        if file == STDOUT:
            return sys.stdin.buffer.read().decode("utf-8")
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ParseError(f"cannot read {file!r}: {reason}", cure="another file") from None
