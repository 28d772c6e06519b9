"""A model whose weights are inputs and whose sizes stay open, as far as its ops allow."""

from __future__ import annotations

from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.circuits.sized_system import SizedSystem
from ncd.lang.circuits.traced_circuit import traced_circuit
from ncd.lang.formulas.traced_sizes import Trace
from ncd.onnx_model.model_graph import ModelGraph


def open_graph(system: SizedSystem) -> ModelGraph:
    """Returns the graph of a system at traced sizes, to be written by its ``whole``.

    Its trace then has the conditions under which the model is that of other sizes: those of the
    term, and those of attributes of ONNX, which hold a number.

    >>> import ncd
    >>> from ncd.lang.circuits.sized_system import of_term
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> graph = open_graph(of_term(term, ncd.elaborate(term)))
    >>> graph.whole().doc_string, graph.sizes
    ('Free sizes: y, m, x, k, h.', ('k', 'h'))
    """
    found = traced_circuit(system.build, system.settings, system.traceable)
    if found is None:
        return ModelGraph(elaborate(system.build(system.settings)), Trace(), None)
    trace, circuit = found
    trace.exact = True
    return ModelGraph(circuit, trace, None, known=frozenset(trace.holds))
