"""The Two codes panel: code that trains a module, beside code with pure functions."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Any

import torch
from torch import Tensor
from torch.func import grad

import ncd
from ncd.app.panels.learning.module_vs_function import chosen
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.circuit.elaborate import elaborate
from ncd.explain.equation_proof import max_difference
from ncd.language.terms import Term
from ncd.site import markup, source_listing
from ncd.systems.training.module_or_functional import (
    OPTIMISERS,
    RATE,
    function_step,
    loss_of,
    module_step,
)
from ncd.write.torch_source.source_file import lines

COMMENTS = {
    "module": "# The model and the optimiser change in place.",
    "function": "# What is given stays as it is; what is new comes back.",
}


@dataclass(frozen=True)
class Apart:
    """The largest differences between both ways, in outputs and in gradients."""

    outputs: float
    gradients: float


def show_training_code(scene: Scene) -> None:
    """Shows both codes in two columns, and the differences of their results."""
    module, function = both(scene)
    found = cached(
        "two codes", module, scene.seed, make=lambda: scene.run_in_pool(lambda: compared(scene))
    )
    held, given = (OPTIMISERS[way["optimiser"]] for way in chosen())
    name = held[0].__name__
    optimiser = f"torch.optim.{name}(model.parameters(), lr={RATE})"
    made = f"model = SimpleMLP()\noptimiser = {optimiser}"
    left = (_class(module), made, COMMENTS["module"], plain(module_step))
    pure = (plain(loss_of), plain(function_step), plain(given[1]))
    rate = f"RATE = {RATE}"
    right = (_function(function), rate, COMMENTS["function"], *pure)
    columns = "".join(
        f"<section><h2>{title}</h2>{_listing(title, parts, term)}</section>"
        for title, parts, term in (("nn.Module", left, module), ("torch.func", right, function))
    )
    html_panel.render(f'{_told(scene, found)}<div class="listings">{columns}</div>', "two codes")


TRAINING_CODE = Panel("Two codes", show_training_code)


def both(scene: Scene) -> tuple[Term, Term]:
    """Returns the network that owns its weights, and the one that takes them as inputs."""
    module, function = (
        scene.entry.build(**{**scene.settings, "function": given}) for given in (0, 1)
    )
    return module, function


def compared(scene: Scene) -> Apart:
    """Runs both with the same weights and examples, and compares outputs and gradients."""
    module, function = (ncd.compile(term, scene.seed) for term in both(scene))
    (x,) = ncd.example_inputs(module.term, scene.seed)
    weights = dict(module.named_parameters())
    free = {name: w.detach() for name, w in weights.items()}
    y = torch.zeros(module.term.cod[0].shape)
    held, given = module(x), function(x, *free.values())
    torch.nn.functional.mse_loss(held, y).backward()
    pure = grad(loss_of)(free, module, x, y)
    gradients = max(max_difference(_gradient(w), pure[name]) for name, w in weights.items())
    return Apart(max_difference(held, given), gradients)


def _gradient(weights: Tensor) -> Tensor:
    assert weights.grad is not None
    return weights.grad


# --- the codes -----------------------------------------------------------------------------------


def plain(function: Callable[..., Any]) -> str:
    """Returns the source of a function without its type annotations and docstring.

    >>> print(plain(loss_of))
    def loss_of(weights, model, x, y):
        found = functional_call(model, weights, (x,))
        return F.mse_loss(found, y)
    """
    (found,) = ast.parse(dedent(inspect.getsource(function))).body
    assert isinstance(found, ast.FunctionDef)
    found.returns, found.body = None, found.body[1:]
    for argument in found.args.args:
        argument.annotation = None
    return ast.unparse(found)


def _class(term: Term) -> str:
    """Returns the source of a term's class, without imports."""
    text = [line.text for line in lines(term)]
    first = next(i for i, line in enumerate(text) if line.startswith("class "))
    return "\n".join(text[first:])


def _function(term: Term) -> str:
    """Returns the source of a term as a function."""
    tree = ast.parse(_class(term))
    forward = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    names = ", ".join(argument.arg for argument in forward.args.args[1:])
    body = "\n".join(map(ast.unparse, forward.body))
    return f"def mlp_fn({names}):\n{indent(body, '    ')}"


def _listing(title: str, parts: Sequence[str], term: Term) -> str:
    """Returns pieces of coloured source, whose axes are highlighted with the diagram's."""
    text = "\n\n".join(parts).split("\n")
    rows = source_listing.coloured(text, source_listing.identifiers(elaborate(term)))
    body = "".join(map(_line, rows))
    return f'<div class="code" role="group" aria-label="the code of {title}">{body}</div>'


def _line(row: str) -> str:
    """Returns a line of code; what does not fit its column goes on further to the right."""
    indent = len(row) - len(row.lstrip(" "))
    whole = row.replace("-&gt;", '<span class="arrow">-&gt;</span>')  # or it breaks at its hyphen
    return f'<div class="line" style="--hang:{indent + 4}ch">{whole or " "}</div>'


def _told(scene: Scene, found: Apart) -> str:
    examples = markup.plural(scene.settings["b"], "random example")
    return (
        f"<p>The same weights, from seed {scene.seed}, inside the module and handed to the "
        f"function, on {examples}: the outputs are <b>{markup.digits(found.outputs)}</b> apart, "
        "the gradients of <code>backward()</code> and of <code>grad</code> are "
        f"<b>{markup.digits(found.gradients)}</b> apart. This is the code that trains in "
        "<b>Side by side</b>; <code>functional_call</code> runs the module with weights that are "
        "not its own, so that nobody has to write <code>mlp_fn</code>.</p>"
    )
