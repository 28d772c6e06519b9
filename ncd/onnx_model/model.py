"""The ONNX model of a term, with weights inside or as inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from onnx import ModelProto
from torch import Tensor as Numbers

from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.circuits.sized_system import of_term
from ncd.lang.errors import MismatchError, shown
from ncd.lang.formulas.traced_sizes import Trace
from ncd.lang.terms.arguments import check_seed, check_term
from ncd.lang.terms.terms import Term
from ncd.onnx_model.free_axes import free_axes
from ncd.onnx_model.model_graph import ModelGraph
from ncd.onnx_model.open_sizes import open_graph
from ncd.run.execution.module import CircuitModule
from ncd.run.limits.compiling import compile


def onnx(
    term: Term, weights: Mapping[str, Numbers] | Literal["inputs"] | None = None, seed: int = 0
) -> ModelProto:
    """Returns a term as an ONNX model, for ONNX Runtime, Netron and other tools.

    Its inputs are the arrays of ``term.dom``, whose axes are in their ``doc_string``; arrays have
    the ids that the SVG carries. A size that
    all ops leave open is symbolic, with the name of its axis. The others are fixed; the model's
    ``doc_string`` says by which op. A repetition is written out; a scan is a ``Scan``. Batch norm
    uses the statistics of its batch, and dropout drops nothing.

    With weights as inputs, the sizes of weights stay open as well: those of all axes that do not
    change the ops. A size that no input has as a dimension of its own (``h`` and ``k`` of a weight
    of ``h * k`` rows) is an input ``size.h``, a vector of one whole number.

    Args:
        term: The system; all its axes need sizes.
        weights: The numbers of the weights by their names in the compiled module;
            ``"inputs"`` for a model that takes them after its arrays; drawn from the seed by
            default.
        seed: The seed of weights that are drawn.

    Raises:
        MismatchError: For an op that ONNX cannot express, or weights that do not fit.
        SizeError: If an axis has no size.
        LimitError: For weights that are too large for one file.

    Source: the ONNX standard, opset 18.

    >>> import ncd
    >>> model = ncd.onnx(ncd.catalogue["multi-head-attention"].build())
    >>> shapes = [i.type.tensor_type.shape.dim for i in model.graph.input]
    >>> [[dim.dim_param or dim.dim_value for dim in shape] for shape in shapes]
    [['y', 128], ['x', 128]]
    >>> model.doc_string
    'Free sizes: y, x. Fixed: m by Linear Q.'
    >>> model = ncd.onnx(ncd.catalogue["multi-head-attention"].build(), "inputs")
    >>> model.doc_string, [i.name for i in model.graph.input if i.name.startswith("size.")]
    ('Free sizes: y, m, x, k, h.', ['size.k', 'size.h'])
    """
    check_term(term, "onnx")
    check_seed(seed, "onnx")
    circuit = elaborate(term)
    if weights == "inputs":
        return open_graph(of_term(term, circuit)).whole()
    if weights is None:
        numbers: Mapping[str, Numbers] = compile(term, seed).state_dict()
    else:
        numbers = _fitting(weights, CircuitModule(circuit, None).state_dict())
    return ModelGraph(circuit, Trace(), numbers, free_axes(circuit)).whole()


def _fitting(given: Any, wanted: Mapping[str, Numbers]) -> Mapping[str, Numbers]:
    """Returns the weights that a module has; raises MismatchError for missing or wrong ones."""
    if not isinstance(given, Mapping):
        cure = 'module.state_dict(), or "inputs"'
        raise MismatchError(f"{shown(given)} is no state dict", where="onnx", cure=cure)
    for name, tensor in wanted.items():
        shape = getattr(given.get(name), "shape", None)
        if shape != tensor.shape:
            fact = f"the weight {name} has shape {tuple(tensor.shape)}"
            found = "none is given" if shape is None else f"the one given has {tuple(shape)}"
            cure = "the state_dict of ncd.compile(term)"
            raise MismatchError(f"{fact}, but {found}", where="onnx", cure=cure)
    return given
