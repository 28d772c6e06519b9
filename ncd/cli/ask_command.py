"""The command that answers a text: what comes out, what is wrong, and the edits that cure it."""

from __future__ import annotations

import argparse

import ncd
from ncd.cli.output import print_json
from ncd.cli.system_argument import file_text
from ncd.read.recognise import strip_prompts


def ask(args: argparse.Namespace) -> int:
    from ncd.cli.answer_text import answer_data, answer_lines

    text = strip_prompts(file_text(args.file))  # as its edits are of
    answer = ncd.ask(text, args.files)
    if args.json:
        print_json(answer_data(answer))
    else:
        print("\n".join(answer_lines(answer, text)))
    return 1 if any(each.kind == "failure" for each in answer.findings) else 0
