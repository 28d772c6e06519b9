"""The gradient of a term, as a term."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ncd.derivatives.parameters import Parameters
from ncd.derivatives.passes import Env, assembled, found, pulled, walk
from ncd.derivatives.steps import Recording, Steps
from ncd.lang.circuits.elaborate import elaborate, require_sizes
from ncd.lang.errors import unknown
from ncd.lang.terms.arguments import check_names, check_term
from ncd.lang.terms.step_wires import Step
from ncd.lang.terms.step_writer import Slot
from ncd.lang.terms.terms import Term


def gradient(term: Term, wrt: Literal["inputs", "parameters"] | Sequence[str] = "inputs") -> Term:
    """Returns the gradient of a term, as a term.

    It takes the arrays of the term, and then the gradient of each output of real numbers. It gives
    the gradient of each input of real numbers, or of the chosen parameters, as torch stores them.
    Its own parameters have the names of the term's module, so their values fit.

    Args:
        term: The term; all of its axes have sizes.
        wrt: ``"inputs"``, ``"parameters"``, or the names of parameters, such as ``["Q.weight"]``.

    Returns:
        The term; it can be drawn, run, costed and differentiated again.

    Raises:
        SizeError: For an axis without a size.
        MismatchError: For an op without a gradient, such as a call by its name, with the reason.
        UnknownNameError: For a name that is no parameter.
        ParseError: For ``wrt`` of another kind.

    Source: Rumelhart, Hinton and Williams 1986, "Learning representations by back-propagating
    errors"; ``torch.autograd.grad``.

    >>> from ncd.ops import Softmax
    >>> back = gradient(Softmax("x:3"))
    >>> str(back.dom), str(back.cod)
    ('x, x', 'x')
    """
    check_term(term, "gradient")
    forward, inputs, outputs = _forward(term)
    given = [(slot, Slot(slot.axes)) for slot in outputs if slot.real]
    backward = Steps(forward.parameters)
    grads = pulled(forward, backward, given)
    wanted = [slot for slot in inputs if slot.real]
    if not (isinstance(wrt, str) and wrt == "inputs"):
        wanted = _parameters(forward, wrt)
    made = tuple(grads.get(slot) or backward.zeros(slot.axes) for slot in wanted)
    steps = [*_stored(forward), *forward.steps, *backward.steps]
    return assembled(steps, (*inputs, *(slot for _, slot in given)), made)


def parameter_names(term: Term) -> list[str]:
    """Returns the names of a term's parameters in the order of their gradients.

    >>> from ncd.ops import Linear
    >>> parameter_names(Linear("m:3 -> k:2", "Q", bias=True))
    ['Q.weight', 'Q.bias']
    """
    forward, _, _ = _forward(term)
    return [path for path in forward.learned if _learns(forward, path)]


def _forward(term: Term) -> tuple[Recording, tuple[Slot, ...], list[Slot]]:
    """Returns the forward pass, its inputs and its outputs."""
    circuit = elaborate(term)
    require_sizes(circuit)
    forward = Recording(Parameters())
    env: Env = {value.id: Slot(value.array) for value in circuit.inputs}
    inputs = tuple(env.values())
    walk(forward, circuit, env)
    return forward, inputs, [found(forward, env, value) for value in circuit.outputs]


def _parameters(forward: Recording, wrt: str | Sequence[str]) -> list[Slot]:
    """Returns the parameters of these names, or all of them."""
    learned = {path: slot for path, slot in forward.learned.items() if _learns(forward, path)}
    if isinstance(wrt, str) and wrt == "parameters":
        return list(learned.values())
    form, example = '"inputs", "parameters" or several names', next(iter(learned), "Q.weight")
    check_names(wrt, "wrt", "gradient", form, example)
    for name in wrt:
        if name not in learned:
            raise unknown("parameter", name, learned, where="gradient")
    return [learned[name] for name in wrt]


def _learns(forward: Recording, path: str) -> bool:
    op = forward.parameters.ops[path]
    return any(one.learned for one in op.initial(op.site(op.dom)).values())


def _stored(forward: Recording) -> list[Step]:
    """Returns the step that gives all parameters."""
    if not forward.learned:
        return []
    term, paths = forward.parameters.term()
    return [Step(term, (), tuple(forward.learned[path] for path in paths))]
