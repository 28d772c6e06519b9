"""The command line: ``ncd COMMAND``, or ``python -m ncd COMMAND``; ``--help`` tells the rest.

A wrong name or value is one line on stderr that says what would work, and exit code 2.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, get_args

import ncd
from ncd.cli.commands import (
    ask,
    check,
    cost,
    crowd,
    import_,
    list_,
    open_,
    render,
    run,
    serve,
    show,
    site,
    source,
    train,
)
from ncd.cli.completion import INSTALLATION, SHELLS, completion
from ncd.cli.output import (
    FILES,
    LABELS,
    PALETTE,
    SCALE,
    check_output,
    discard_output,
    replace_unprintable,
    report_in,
)
from ncd.errors import NCDError
from ncd.installation import COMMANDS, MissingExtra, needed_by
from ncd.language.arguments import Labels, Palette
from ncd.language.number_formats import BITS, PLAIN_FORMATS

Options = Callable[["Parser"], None]
Command = Callable[[argparse.Namespace], int]
PLACES = (
    "a system, as `list` names it; a file of text, PyTorch or a config.json; FILE.py:NAME; "
    "or - for standard input"
)


class Parser(argparse.ArgumentParser):
    """A parser that reports errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{' '.join(f'{self.prog}: {message}'.split())}. Try {self.prog} --help.\n")


def parser() -> Parser:
    """Returns the parser of all commands and their options."""
    name = "ncd" if Path(sys.argv[0]).stem == "ncd" else "python -m ncd"
    main = Parser(prog=name, description="Neural circuits: one term, every view.")
    main.add_argument("--version", action="version", version=f"ncd {ncd.__version__}")
    commands = main.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for act, summary, groups in _commands():
        command = commands.add_parser(act.__name__.rstrip("_"), help=summary, description=summary)
        for group in groups:
            group(command)
        command.set_defaults(run=act, parser=main)
    return main


def _commands() -> Sequence[tuple[Command, str, tuple[Options, ...]]]:
    """Returns every command with its summary and its groups of options."""
    system, checked = (_system, _knobs), "systems and ops, through every view and test"
    learned = (_name, _knobs, _learning)
    shown = "the shape on every wire; parameters, FLOPs and bytes per op"
    costs = "parameters, FLOPs and bytes per op, and the memory"
    asked = "what comes out of a PyTorch text, what is wrong with it, and the edits that cure it"
    trained = "trains a system that has a task: its loss, and its score on unseen data"
    ran = "one run, forward and backward: shapes, values, time, memory"
    return (
        (list_, "the systems of the catalogue, with their knobs and presets", (_json, _report)),
        (show, shown, (*system, _formats, _json, _report)),
        (cost, costs, (*system, _formats, _json, _report)),
        (render, "the diagram as a file", (*system, _picture, _json)),
        (source, "the system as a PyTorch file", (*system, _text, _json)),
        (run, ran, (*system, _seed_and_device, _json, _report)),
        (check, checked, (_names, _knobs, _seed_and_device, _json, _report)),
        (train, trained, (*learned, _json)),
        (ask, asked, (_file_arguments, _json, _report)),
        (import_, "a torch module of one's own as a diagram", (_module, _picture_of, _json)),
        (open_, "the app, in the browser at a system, a file or a module", (_place, _address)),
        (serve, "the app, for a browser", (_module_arguments, _address)),
        (site, "the explorer as static files, for any web host", (_site, _json)),
        (crowd, "the app in several processes behind one address", (_address, _processes)),
        (completion, "the script by which a shell completes commands and names", (_shell, _report)),
    )


def _shell(command: Parser) -> None:
    command.add_argument("shell", choices=SHELLS, help="; ".join(INSTALLATION.values()))


def _name(command: Parser) -> None:
    command.add_argument("name", metavar="NAME", help="a system, as `list` names it")


def _system(command: Parser) -> None:
    command.add_argument("name", metavar="SYSTEM", help=PLACES)
    _shapes(command)


def _place(command: Parser) -> None:
    command.add_argument("name", metavar="SYSTEM", help=PLACES)
    _shapes(command)


def _names(command: Parser) -> None:
    said = "systems and ops, which are tested as well; default: all, without the tests"
    command.add_argument("names", nargs="*", metavar="NAME", help=said)
    command.add_argument(
        "--fast", action="store_true", help="each system at its defaults, without the tests"
    )


def _site(command: Parser) -> None:
    places = "systems, files of text, FILE.py:NAME, -; default: the systems of the catalogue"
    command.add_argument("names", nargs="*", metavar="SYSTEM", help=places)
    _shapes(command)
    command.add_argument(
        "-o", "--output", required=True, metavar="FOLDER", help="where the files go"
    )


def _knobs(command: Parser) -> None:
    command.add_argument("--preset", metavar="PRESET", help="sizes of a published model")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KNOB=VALUE",
        help="a knob, or an axis; repeatable",
    )


def _formats(command: Parser) -> None:
    said = {
        "weights": "number format of the weights",
        "activations": "number format of the arrays",
        "cache": "number format of what a cache keeps",
    }
    for kind, help in said.items():
        command.add_argument(f"--{kind}", choices=list(BITS), default=PLAIN_FORMATS, help=help)


def _file_arguments(command: Parser) -> None:
    said = "PyTorch, an einsum, a config.json or a term; - is standard input"
    command.add_argument("file", metavar="FILE", help=said)
    more = "files whose classes it uses"
    command.add_argument("files", nargs="*", metavar="MORE", help=more)


def _module(command: Parser) -> None:
    place = "a file and a name in it, or hf:config.json of a published model"
    command.add_argument("module", metavar="FILE.py:NAME", help=place)
    _shapes(command)
    kinds = "FILE.json, .svg, .png, .pdf, .tex, .html or .onnx"
    command.add_argument("-o", "--output", default="", metavar="FILE", help=kinds)
    _format_option(command, ".json", *FILES)


def _module_arguments(command: Parser) -> None:
    place = "modules of one's own, each on a page of its own"
    command.add_argument("modules", nargs="*", metavar="FILE.py:NAME", help=place)
    _shapes(command)


def _shapes(command: Parser) -> None:
    said = 'the shapes of a module\'s inputs, "2x8x128, 8#50257"; # is of whole numbers'
    command.add_argument("--inputs", default="", metavar="SHAPES", help=said)


def _picture(command: Parser) -> None:
    kinds = "FILE.svg, .png, .pdf, .tex, .html or .onnx; - is standard output"
    command.add_argument("-o", "--output", required=True, metavar="FILE", help=kinds)
    _format_option(command, *FILES)
    _picture_of(command)
    command.add_argument(
        "--plain", action="store_true", help="without the callouts that the catalogue's figure has"
    )
    command.add_argument("--bands", action="store_true", help="columns of data and operations")
    command.add_argument("--cells", action="store_true", help="arrays as grids of cells")


def _format_option(command: Parser, *kinds: str) -> None:
    names = [kind.removeprefix(".") for kind in kinds]
    said = f"what to write, as -o - has no suffix (default there {names[0]})"
    command.add_argument("--to", choices=names, default="", help=said)


def width(text: str) -> float | str:
    """Returns pixels as a number, and a width in TeX units as text."""
    try:
        return float(text)
    except ValueError:
        if text[-2:].isalpha():
            return text
        raise


def _picture_of(command: Parser) -> None:
    command.add_argument("--labels", choices=get_args(Labels), help=f"default {LABELS}")
    command.add_argument("--dark", action="store_true", help="for a dark page")
    palette_help = (
        "the fills: quiet, calm colours with thin borders; paper, those of the published figures, "
        f"with shadows; bw, greys that stay apart in print (default {PALETTE})"
    )
    command.add_argument("--palette", choices=get_args(Palette), help=palette_help)
    command.add_argument(
        "--width",
        type=width,
        help="pixels it is read at (default: the system's, mostly 1280; 0: one row), or a width on "
        "paper, where labels keep their size: 12cm",
    )
    boxes = command.add_mutually_exclusive_group()
    boxes.add_argument(
        "--folded",
        action="append",
        default=[],
        metavar="TITLE",
        help="a block as one box; repeatable",
    )
    boxes.add_argument("--open", action="store_true", help="no block as one box")
    command.add_argument(
        "--note",
        action="append",
        default=[],
        metavar="PLACE=TEXT",
        help="a callout at an op, by its name, or a block, by its title; repeatable",
    )
    _formats_of(command)


def _formats_of(command: Parser) -> None:
    command.add_argument("--scale", type=float, help=f"size of a .png (default {SCALE:g})")
    command.add_argument(
        "--picture", action="store_true", help="of a .tex the tikzpicture alone, to be put in"
    )


def _text(command: Parser) -> None:
    command.add_argument(
        "--no-einops", dest="einops", action="store_false", help="stand on torch alone"
    )
    command.add_argument("-o", "--output", default="", metavar="FILE.py", help="keep the source")


def _seed_and_device(command: Parser) -> None:
    command.add_argument("--seed", type=int, default=0, help="of weights and inputs (default 0)")
    _device(command)


def _device(command: Parser) -> None:
    command.add_argument("--device", default="cpu", help="cpu, cuda, mps (default cpu)")


def _learning(command: Parser) -> None:
    command.add_argument("--seed", type=int, default=0, help="of weights and data (default 0)")
    _device(command)
    command.add_argument("--steps", type=_count, help="how many; each task has its own default")
    command.add_argument("-o", "--output", metavar="FILE.safetensors", help="keep the weights")


def _count(text: str) -> int:
    """Parses a whole number from 1."""
    if not text.isdecimal() or not 0 < int(text) < 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of steps from 1 to 999999")
    return int(text)


def _json(command: Parser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _report(command: Parser) -> None:
    """Adds the file of a report; what another command writes is its ``output``."""
    said = "a file for what is printed"
    command.add_argument("-o", "--output", dest="report", metavar="FILE", help=said)


def _address(command: Parser) -> None:
    command.add_argument("--host", default="127.0.0.1", help="address (default 127.0.0.1)")
    command.add_argument("--port", type=int, default=8501, help="port (default 8501)")


def _processes(command: Parser) -> None:
    command.add_argument("--processes", type=_process_count, default=2, help="how many (default 2)")


def _process_count(text: str) -> int:
    """Parses a whole number from 1 to 64."""
    if not text.isdecimal() or len(text) > 2 or not 0 < int(text) <= 64:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes from 1 to 64")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code. Without one it prints the help, as `help` does."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] in ([], ["help"]):
        words = [*words[1:2], "--help"]
    args = parser().parse_args(words)
    name = args.run.__name__.rstrip("_")
    try:
        with needed_by(f"ncd {name}", COMMANDS.get(name, "")):
            check_output(args)
            with report_in(vars(args).get("report")):
                code: int = args.run(args)
    except (NCDError, MissingExtra) as error:
        print(f"ncd: {error}", file=sys.stderr)
        return 2
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # torch's, which is not imported here
            raise
        print(f"ncd: {str(error).partition('. GPU')[0]}. Try smaller sizes.", file=sys.stderr)
        return 2
    return code


def entry_point() -> int:
    """Runs the command of a shell; Ctrl-C or a closed pipe ends it silently."""
    before, stops = signal.getsignal(signal.SIGINT), []

    def stop(number: int, _: object) -> None:
        stops.append(number)
        discard_output(sys.stdout, sys.stderr)
        raise KeyboardInterrupt  # which may become another error, as in an import or be lost

    if before is signal.SIG_DFL:  # see ncd/quiet_interrupt.py
        signal.signal(signal.SIGINT, stop)
    try:
        code = _run_command()
    except BaseException:
        if not stops:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    return 128 + signal.SIGINT if stops else code


def _run_command() -> int:
    """Runs the command; says in one line that its output cannot be written."""
    replace_unprintable()
    try:
        code = main()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        discard_output(sys.stdout)
        return 1
    except OSError as error:
        if error.filename is not None:  # that is no fault of what is printed
            raise
        discard_output(sys.stdout)
        print(f"ncd: cannot write: {error.strerror or error}.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(entry_point())
