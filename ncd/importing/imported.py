"""A torch module as a term, for its diagram, shapes and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ncd.importing.argument_checks import check_arguments, check_input_names
from ncd.importing.base.import_values import Constant, ImportFailed, Refused
from ncd.importing.comparison import TorchRefuses, apart, compared, given_inputs, refusals
from ncd.importing.graph_reader import walk
from ncd.importing.idioms.idiom_search import idioms
from ncd.importing.naming.annotated_axes import annotated_axes
from ncd.importing.term_building import built
from ncd.importing.torch_export import Exported, exported
from ncd.importing.weight_transfer import filled, state_dict
from ncd.lang.terms.terms import Term
from ncd.run import compile as compiled
from ncd.run.base.limits import Limits
from ncd.run.execution.module import CircuitModule

TRIES = 80  # passes, in each of which more calls become boxes
DRAWN = "It keeps random numbers that torch draws anew in each run."
UNLIMITED = Limits(bytes=2**62, flops=2**62)  # the module is the caller's own


@dataclass(frozen=True)
class Box:
    """A call that has no op of its own, and is drawn as a box.

    Args:
        function: The function of torch, such as ``roll``.
        node: Its name in torch's graph.
        why: The reason.

    Source: ``torch.export``, whose graphs call these functions.

    >>> class Largest(nn.Module):
    ...     def forward(self, x):
    ...         return x.cummax(1).values
    >>> found = from_torch(Largest(), torch.ones(2, 3))
    >>> found.boxes[0].function, found.boxes[0].why
    ('cummax', 'cummax has no op of its own')
    """

    function: str
    node: str
    why: str


@dataclass(frozen=True, eq=False)
class Imported:
    """A torch module as a term.

    Args:
        term: The term; its axes have the sizes of the inputs that were given.
        boxes: The calls that stayed opaque.
        failure: The error with which the module itself stopped; empty if it runs. The term goes
            up to the call that failed, and gives what that call was given; it is whole where the
            error depends on the numbers, as only a run tells.
        exported: The module's graph, and its inputs.
        weights: The module's tensors in the order of the term's parameters.
        notes: Where the term is not the module, in sentences: outputs of another shape or kind, or
            that are not close, as both were run once; parameters that it lacks; norms that use
            the statistics that they keep.
        nodes: The node of torch's graph for which each op of the term was made, in their order;
            empty for wires.

    Source: ``torch.export``, whose graph is read.

    >>> found: Imported = from_torch(nn.Linear(8, 3), torch.ones(2, 8))
    >>> str(found.term.cod), found.difference < 1e-6, [*found.state_dict()]
    ('b d', True, ['weight', 'bias'])
    """

    term: Term
    boxes: tuple[Box, ...]
    failure: str
    exported: Exported
    weights: tuple[Constant, ...]
    notes: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    def module(self) -> CircuitModule:
        """Returns the compiled term with the weights of the module, in its mode."""
        made = compiled(self.term, limits=UNLIMITED)
        filled(made, self.weights)
        return made.train(self.exported.module.training)

    def state_dict(self, module: CircuitModule | None = None) -> dict[str, Tensor]:
        """Returns the weights of a compiled module under the names of the torch module.

        Args:
            module: A module of the term, such as one that has been trained; by default one with the
                weights that were imported.
        """
        return state_dict(module or self.module(), self.weights, self.exported.module)

    @property
    def difference(self) -> float:
        """The largest difference between the two modules' outputs, on the inputs given.

        It is infinite for outputs of another shape, or of real numbers in place of whole ones.

        Both run in evaluation mode, so that nothing is dropped at random. Raises ImportFailed where
        torch itself stops on these inputs.
        """
        mine = self.module().eval()
        given = given_inputs(self.term, self.exported.inputs)
        try:
            with torch.no_grad(), refusals():
                theirs = self.exported.run()
        except TorchRefuses as error:
            where = type(self.exported.module).__name__
            raise ImportFailed(f"torch itself refuses this: {error}", where=where) from None
        with torch.no_grad():
            ours = mine(*given)
        ours = ours if isinstance(ours, tuple) else (ours,)
        pairs = zip(ours, theirs, strict=True)
        return max((apart(one, two) for one, two in pairs), default=0.0)


def from_torch(
    module: nn.Module, *inputs: Any, axes: Mapping[str, str] | None = None, **named: Any
) -> Imported:
    """Returns a torch module as a term.

    Args:
        module: The module; it is not changed.
        *inputs: The arguments of its ``forward``: tensors, or anything else that it accepts.
        axes: The axes of its inputs by their names in ``forward``, such as ``{"x": "b t m"}``; by
            default they are those of the annotations, such as ``Float[Tensor, "b t m"]``, or
            follow from the number of dimensions. An axis ``_`` gets a usual name.
        **named: Further arguments of ``forward``, by name.

    Returns:
        The term, with the module's weights. A call for which the language has no op is a named box.
        Of a module that fails, the part up to the call that fails. It has been run once beside
        torch, unless that takes long: ``notes`` tell where the two differ.

    Raises:
        ImportFailed: For a module that ``torch.export`` refuses, or a call that cannot even be a
            box, such as one whose result has a size that depends on the numbers. Also for what is
            no module, for inputs that are sparse or complex, and for axes that are no texts, or
            that name no input.

    Source: ``torch.export``.

    >>> found = from_torch(nn.Sequential(nn.Linear(8, 4), nn.ReLU()), torch.ones(2, 8))
    >>> found.term
    Id('b:2 m:8') >> Linear('m:8 -> d:4', 'n0', True) >> Elementwise('relu')
    """
    check_arguments(module, (inputs, named), axes)
    made = exported(module, inputs, named)
    forced: dict[str, str] = {}
    names = {**annotated_axes(module, inputs, named), **(axes or {})}
    written_out = idioms(made.program)
    for _ in range(TRIES):
        walked = walk(made, forced, names, written_out)
        check_input_names(axes or {}, walked.inputs)
        try:
            term, weights, nodes = built(walked)
        except Refused as error:
            if dropped := error.reasons.keys() & written_out:
                for node in dropped:
                    del written_out[node]
                continue
            for node, why in error.reasons.items():
                if node in forced or node == "output":
                    raise ImportFailed(why, where=node) from None
            forced |= error.reasons
            continue
        boxes = (Box(name, node, why) for node, (name, why) in walked.builder.boxes.items())
        builder = walked.builder
        notes, failure = compared(term, weights, made, [*builder.boxes, *builder.drawn])
        notes += (DRAWN,) if builder.drawn else ()
        return Imported(term, tuple(boxes), failure, made, weights, notes, nodes)
    raise ImportFailed("too many of its calls have no op", cure="a smaller module")
