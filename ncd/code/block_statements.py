"""The statements of parts: calls of blocks, and the loops of repetitions and scans."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ncd.code.array_identifiers import Naming
from ncd.code.identifiers import attribute, plain, variable
from ncd.code.line_breaking import Code, called, method
from ncd.code.scopes import Body, Outline, Part, Scope
from ncd.code.statements import Owner, Statement
from ncd.lang.circuits.circuit import State

Ids = tuple[str, ...]


class Parts:
    """Writes the parts of one method, one at a time."""

    def __init__(self, owner: Owner, naming: Naming) -> None:
        self.owner, self.naming = owner, naming

    def statements(self, part: Part, time: int) -> list[Statement]:
        """Writes the statements of parts."""
        self.found: list[Statement] = []
        {"block": self._block, "repeat": self._repeat, "scan": self._scan}[part.kind](part, time)
        return self.found

    def _say(self, target: str, code: Code, nodes: Ids, indent: int = 0) -> None:
        self.found.append(Statement(target, code, nodes, (), indent))

    def _held(self, values: State) -> list[str]:
        return [self.naming.names[value.id] for value in values]

    # one call -------------------------------------------------------------------------------------

    def _block(self, part: Part, time: int) -> None:
        (body,) = part.bodies
        self._single(body, part.inputs, part.outputs, time)

    def _single(self, body: Body, inputs: State, outputs: State, time: int, more: str = "") -> None:
        """Returns one call of a body; ``more`` is the variable for its additional output."""
        ins, outs = self._held(inputs), list[str]()
        name = next((n for n in reversed(body.scope.path) if not n.isdecimal()), "out")
        for place, value in enumerate(outputs):
            wanted = [*ins[place : place + 1], "x", variable(name)]
            if more and place >= len(ins):
                wanted = [more]
            given = self.naming.given.get(self.naming.root(value))
            outs.append(self.naming.choose([given] if given else wanted, time, outs))
        for value, target in zip(outputs, outs, strict=True):
            self.naming.hold(value, target)
        self._say(", ".join(outs), _call(self._called(body), ins), _ids(body))

    def _called(self, body: Body, on: str = "") -> str:
        """Returns the code that is called to run a body: a submodule, or a method of one."""
        name = self.owner.method_of(body)
        on = on or access(self.owner.outline, self.owner.scope, body.scope)
        return on if name == "forward" and on != "self" else f"{on}.{name}"

    # repetitions ----------------------------------------------------------------------------------

    def _repeat(self, part: Part, time: int) -> None:
        if len(part.bodies) > 1 and self._even(part):
            self._for(part, time + len(part.bodies) - 1)  # the time of the last body
            return
        for i, body in enumerate(part.bodies):
            self._single(body, body.inputs, body.outputs, time + i, "skip")

    def _even(self, part: Part) -> bool:
        """Returns whether one loop can run all bodies, as each takes all arrays."""
        assert part.loop is not None
        count = len(part.inputs) - part.loop.memory
        ends = {(len(body.inputs), len(body.outputs)) for body in part.bodies}
        methods = {self.owner.method_of(body) for body in part.bodies}
        if len(methods) > 1 or ends != {(len(part.inputs), count)} or len(part.outputs) != count:
            return False
        home = self.owner.outline.scopes[part.bodies[0].scope.path[:-1]]
        return part.loop.shared or (home.listed and len(home.children) == len(part.bodies))

    def _for(self, part: Part, time: int) -> None:
        loop, nodes, first = part.loop, _ids(*part.bodies), part.bodies[0]
        assert loop is not None
        split = len(part.inputs) - loop.memory
        memory = self._held(part.inputs[split:])
        targets = self._states(part.inputs[:split], memory, nodes, time)
        if loop.shared:
            item, over = "_", f"range({len(part.bodies)})"
            head = self._called(first)
        else:
            single = variable(loop.name.removesuffix("s") or loop.name)
            item = self.naming.choose([single], time, {*targets, *memory})
            over = access(self.owner.outline, self.owner.scope, first.scope, up=1)
            head = self._called(first, item)
        self._say("", Code(f"for {item} in {over}:"), nodes)
        self._say(", ".join(targets), _call(head, [*targets, *memory]), nodes, 1)
        for value, name in zip(part.outputs, targets, strict=True):
            self.naming.hold(value, name)

    def _states(self, inputs: State, others: Sequence[str], nodes: Ids, time: int) -> list[str]:
        """Variables that a loop may change: the old ones, or new ones where those are needed."""
        ins, targets = self._held(inputs), list[str]()
        for name in ins:
            new, blocked = name, {*targets, *others}
            if not name.isidentifier() or not self.naming.free(name, time, blocked):
                new = self.naming.choose([name], time, {*blocked, *ins})
                self._say(new, Code(name), nodes)
            targets.append(new)
        return targets

    # scans ----------------------------------------------------------------------------------------

    def _scan(self, part: Part, time: int) -> None:
        loop, nodes, (body,) = part.loop, _ids(*part.bodies), part.bodies
        assert loop is not None
        n, along = loop.states, plain(loop.axis) or "t"
        sequences = self._held(part.inputs[n:])
        targets = self._states(part.inputs[:n], sequences, nodes, time)
        block = {*targets, *sequences}
        items = [f"{'x' if name == along else plain(name)}_{along}" for name in sequences]
        items = self._new(items, time, block)
        outs = self._new(["out"] * (len(part.outputs) - n), time, {*block, *items})
        lists = self._new(["outs"] * len(outs), time, {*block, *items, *outs})
        for name in lists:
            self._say(name, Code("[]"), nodes)
        self._say("", self._along(part, items, sequences), nodes)
        call = _call(self._called(body), [*targets, *items])
        self._say(", ".join([*targets, *outs]), call, nodes, 1)
        for name, out in zip(lists, outs, strict=True):
            self._say("", Code(f"{name}.append({out})"), nodes, 1)
        for value, name in zip(part.outputs[:n], targets, strict=True):
            self.naming.hold(value, name)
        self._stacked(part, lists, time, nodes)

    def _new(self, wanted: Iterable[str], time: int, block: Collection[str]) -> list[str]:
        found: list[str] = []
        for name in wanted:
            found.append(self.naming.choose([variable(name)], time, {*block, *found}))
        return found

    def _along(self, part: Part, items: Sequence[str], sequences: Sequence[str]) -> Code:
        """Returns the first line of the loop over positions."""
        assert part.loop is not None
        parts = []
        given = part.inputs[part.loop.states :]
        for name, value in zip(sequences, given, strict=True):
            dims, on = value.array.position(part.loop.axis), Code(name)
            if len(dims) > 1:
                on = method(on, "flatten", (Code(str(dims[0])), Code(str(dims[-1]))))
            parts.append(method(on, "unbind", (Code(str(dims[-1])),)))
        over = parts[0] if len(parts) == 1 else called("zip(", (*parts, Code("strict=True")))
        return over.before(f"for {', '.join(items)} in ").after(":")

    def _stacked(self, part: Part, lists: list[str], time: int, nodes: Ids) -> None:
        """Returns the code that stacks the outputs of all positions."""
        assert part.loop is not None
        outputs = part.outputs[part.loop.states :]
        for i, (name, value) in enumerate(zip(lists, outputs, strict=True)):
            dims = value.array.position(part.loop.axis)
            self.owner.imports.add("import torch")
            code = Code(f"torch.stack({name}, dim={dims[-1]})")
            if len(dims) > 1:
                axis = value.array[value.array.names.index(part.loop.axis)]
                code = method(code, "unflatten", (Code(str(dims[-1])), Code(str(axis.shape))))
            given = self.naming.given.get(self.naming.root(value), "x")
            target = self.naming.choose([given, "y"], time, lists[i + 1 :])
            self.naming.hold(value, target)
            self._say(target, code, nodes)


def access(outline: Outline, here: Scope, scope: Scope, up: int = 0) -> str:
    """Returns code that reads a submodule from here, or the one ``up`` levels around it."""
    path = scope.path[: len(scope.path) - up]
    on, home = "self", here
    for name in path[len(here.path) :]:
        on = f"{on}[{name}]" if home.listed else attribute(on, name)
        home = outline.scopes[(*home.path, name)]
    return on


def _call(head: str, inputs: Sequence[str]) -> Code:
    return called(f"{head}(", map(Code, inputs))


def _ids(*bodies: Body) -> Ids:
    return tuple(id for body in bodies for id in body.nodes)
