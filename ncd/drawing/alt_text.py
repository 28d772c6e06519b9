"""Text descriptions of drawings for screen readers: the structure, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ncd.circuit.circuit import Cell, Circuit, Loop, ScanLoop, Unit, array_names
from ncd.words import plain_text


def describe(circuit: Circuit, names: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Returns a title and a description that read well aloud.

    The title is that of the outermost block, or names the first and the last of several. ``names``
    are the names of the circuit's arrays, if known.

    >>> from ncd import Block
    >>> from ncd import elaborate
    >>> from ncd import Repeat
    >>> from ncd.ops import Linear, Softmax
    >>> layer = Block(Linear("m:2 -> m:2", "W") >> Softmax("m"), "Layer")
    >>> print(describe(elaborate(Repeat((layer,) * 6)))[1])
    From (m) to (m). Repeated 6 times. Layer: learned linear map W, m to m, gives w; softmax along
    m: the weights sum to 1 over m, gives weights. End of what is repeated.
    """
    ins, outs = (", ".join(str(v.array) for v in s) for s in (circuit.inputs, circuit.outputs))
    names = array_names(circuit) if names is None else names
    steps = (
        _DescriptionWriter(circuit, names).describe_units(circuit.units, 0) or "Nothing is done."
    )
    return _title(circuit), f"From ({ins}) to ({outs}). {steps}"


def _title(circuit: Circuit) -> str:
    own = (fence for fence in circuit.own_fences if not fence.parent)
    titles = [plain_text(fence.title.strip()) for fence in own]
    outer = list(dict.fromkeys(filter(None, titles)))
    if len(outer) < 2:
        return outer[0] if outer else "Neural circuit diagram"
    return f"{outer[0]} {'and' if len(outer) == 2 else 'to'} {outer[-1]}"


class _DescriptionWriter:
    """Describes units in order; each block is a section with a heading."""

    def __init__(self, circuit: Circuit, names: Mapping[str, str]) -> None:
        self.fences = {fence.id: fence for fence in circuit.fences}
        self.names = names

    def describe_units(self, units: Iterable[Unit], depth: int) -> str:
        """Describes everything ``depth`` fences deep in sentences; consecutive ops share one."""
        parts: dict[str, list[Unit]] = {}
        for n, unit in enumerate(units):
            key = unit.fences[depth] if len(unit.fences) > depth else f"{n}"
            parts.setdefault(key, []).append(unit)
        said: list[str] = []
        run: list[str] = []
        for key, inside in parts.items():
            if isinstance(inside[0], Cell) and key not in self.fences:
                run.append(self.cell(inside[0]))
                continue
            said += [self.sentence(run)] * bool(run)
            run = []
            said.append(self.section(key, inside, depth))
        return " ".join([*said, *[self.sentence(run)] * bool(run)])

    def section(self, key: str, inside: list[Unit], depth: int) -> str:
        """Describes a block or a loop; its title also closes it if it contains blocks."""
        if isinstance(inside[0], Loop) and key not in self.fences:
            return self.loop(inside[0])
        text = self.describe_units(inside, depth + 1)
        title = plain_text(self.fences[key].title.strip())
        if not title:
            return text
        if all(isinstance(unit, Cell) and len(unit.fences) == depth + 1 for unit in inside):
            return f"{title}: {text[:1].lower()}{text[1:]}"
        return f"{title} begins. {text} End of {title}."

    def loop(self, loop: Loop) -> str:
        body = loop.bodies[0]
        depth = len(loop.fences) + 1
        text = self.describe_units(body.units, depth)
        if isinstance(loop, ScanLoop):
            return f"At each position of {loop.axis}. {text} End of what is done at each position."
        return f"Repeated {len(loop.bodies)} times. {text} End of what is repeated."

    def cell(self, cell: Cell) -> str:
        names = [self.names.get(value.id, "") for value in cell.outputs]
        kept = {self.names.get(value.id, "") for value in cell.inputs}
        said = {*kept, cell.name, ""}  # or told by the op's own words
        new = [name for name in names if name not in said and " after " not in name]
        return f"{cell.description}, gives {' and '.join(new)}" if new else cell.description

    def sentence(self, run: list[str]) -> str:
        text = "; ".join(run)
        return f"{text[:1].upper()}{text[1:]}."
