"""The command that prints what a shell needs to complete commands, options and names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import ncd
from ncd.installation import needed_by

SHELLS = ("bash", "zsh", "fish")
# Where it is kept, so that each new shell reads it.
INSTALLATION = {
    "bash": 'eval "$(ncd completion bash)", in ~/.bashrc',
    "zsh": 'eval "$(ncd completion zsh)", in ~/.zshrc after compinit',
    "fish": "ncd completion fish > ~/.config/fish/completions/ncd.fish",
}
# The function of each shell that completes a system: the names of the catalogue, and files.
SYSTEMS = {"bash": "_ncd_systems", "zsh": "_ncd_systems", "fish": "(_ncd_systems)"}
NAMES = {"bash": "_ncd_names", "zsh": "_ncd_names", "fish": "(_ncd_names)"}
FUNCTIONS = {
    "bash": """
_ncd_names() {{ compgen -W "{names}" -- $1; }}
_ncd_systems() {{ _ncd_names $1; compgen -f -- $1; }}
""",
    "zsh": """
_ncd_names() {{ compadd {names} }}
_ncd_systems() {{ _ncd_names; _files }}
""",
    "fish": """
function _ncd_names; printf '%s\\n' {names}; end
function _ncd_systems; _ncd_names; __fish_complete_path (commandline -ct); end
""",
}


def completion(args: argparse.Namespace) -> int:
    print(completion_script(args.parser, args.shell))
    return 0


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Returns the script of a shell; positional arguments named NAME, SYSTEM or FILE are completed.

    Raises:
        MissingExtra: If the library that writes it is not installed.
    """
    with needed_by("ncd completion"):
        import shtab
    completers = {"SYSTEM": SYSTEMS, "NAME": NAMES, "FOLDER": shtab.DIRECTORY}
    parser.prog = "ncd"  # also where this is `python -m ncd`
    for action in _arguments(parser):
        word = str(action.metavar)
        if found := completers.get(word, shtab.FILE if "FILE" in word or word == "MORE" else None):
            action.complete = found  # type: ignore[attr-defined]
    preamble = FUNCTIONS[shell].format(names=" ".join(ncd.catalogue))
    return shtab.complete(parser, shell, root_prefix="ncd", preamble=preamble)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yields every option and argument of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _arguments(command)
        else:
            yield action
