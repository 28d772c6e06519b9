"""The circuit of a term at sizes that stay open (:mod:`ncd.lang.formulas.traced_sizes`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ncd.lang.circuits.circuit import Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.lang.formulas.traced_sizes import Trace
from ncd.lang.terms.terms import Term


def traced_circuit(
    build: Callable[[Mapping[str, int]], Term],
    settings: Mapping[str, int],
    sizes: Collection[str],
) -> tuple[Trace, Circuit] | None:
    """Returns the circuit at traced sizes; None if it cannot be built so.

    Sizes that are part of names stay plain numbers.
    """
    names = set(sizes)
    while names:
        trace = Trace()
        given = {n: trace.size(n, v) if n in names else v for n, v in settings.items()}
        try:
            return trace, elaborate(build(given))
        except NCDError as error:
            wrong = named_in(trace, error)
            if not wrong:
                return None
            names -= wrong
    return None


def named_in(trace: Trace, error: NCDError) -> set[str]:
    """Returns the names of the sizes in the text of an error."""
    text = str(error).encode("unicode_escape").decode()
    said = [n for (n, _), own in trace.written.items() if f"\\u{ord(own):x}" in text]
    return {name for number in said for name in trace.read(number.total)}
