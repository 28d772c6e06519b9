"""Findings about the sizes of a model's inputs: their rules, and the parameters that set them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import groupby

from ncd.findings.finding import Cure, Finding
from ncd.findings.sizes.input_axes import InputAxis
from ncd.findings.sizes.input_sizes import Group, moved
from ncd.findings.sizes.name_swaps import name_swaps, size_names, swap_cure
from ncd.findings.sizes.probe import Edits, Outcome, Probe, Shapes
from ncd.findings.sizes.range_words import FREE, range_words
from ncd.findings.sizes.size_symbols import Parameter, TracedSizes
from ncd.lang.plain_text import listed


class InputRules:
    """Says what groups of axes have to be, one sentence for all with the same rule.

    Args:
        probe: The source.
        tree: Its syntax tree.
        traced: A reading of it with symbols, if there is one.
    """

    def __init__(self, probe: Probe, tree: ast.AST, traced: TracedSizes | None) -> None:
        self.probe, self.tree, self.traced = probe, tree, traced

    def findings(self, groups: Sequence[Group]) -> list[Finding]:
        """Returns a finding for each rule; what is free comes first."""

        def rule(group: Group) -> tuple[object, ...]:
            return not group.range.is_free, _is_tied(group), repr(group.range)

        ordered = sorted(groups, key=rule)
        return [self._finding([*same]) for _, same in groupby(ordered, key=rule)]

    def _finding(self, groups: list[Group]) -> Finding:
        axes = [axis for group in groups for axis in group.axes]
        failure = next((one.failure for one in groups if one.failure.line), Outcome(True))
        if _is_tied(groups[0]):
            return self._tied(groups, failure)
        rule = groups[0].range
        names = [*dict.fromkeys(a.plain if a.is_batch else a.name for a in axes)]
        words = listed(names)
        source = self._source(groups) if rule.high else None
        sides = len(axes) == 2 and axes[0].array == axes[1].array
        if source is not None and sides and (luck := self._square(axes, source)):
            return luck
        if rule.is_free:
            says = f"{words} {'are' if len(names) > 1 else 'is'} free"
        else:
            said = range_words(rule)
            said = said.replace("must", "must both", 1) if source and len(axes) == 2 else said
            origin = f", as `{source.name}` is {source.place.value:,}" if source else ""
            says = f"{words} {said}{origin}{self._example(groups)}"
        return Finding("size", failure.line, failure.layer, f"{says[0].upper()}{says[1:]}.")

    def _source(self, groups: list[Group]) -> Parameter | None:
        """Returns the parameter that sets a largest size: twice of it lets twice the size work."""
        largest = groups[0].range.high
        sizes = (largest, groups[0].axes[0].size)
        axes = [axis for group in groups for axis in group.axes]
        for one in self.traced.parameters if self.traced else ():
            value = one.place.value
            sets = value in sizes and 2 * value > largest  # which is too large as it is
            if sets and self.probe.works(*self._doubled(one, axes)):
                return one
        return None

    def _doubled(
        self, one: Parameter, axes: Sequence[InputAxis], left: Sequence[InputAxis] = ()
    ) -> tuple[Shapes, Edits]:
        """Returns the change to twice a parameter and axes, while others are left as they are."""
        assert self.traced is not None
        size = 2 * one.place.value
        shapes, edits = self.traced.change(dict.fromkeys(self.traced.tied(one.symbol), size))
        for axis in left:
            shapes = moved(shapes, (axis,), axis.size)
        return moved(shapes, axes, size), edits

    def _square(self, axes: list[InputAxis], source: Parameter) -> Finding | None:
        """Returns the finding that height has to be width, where an unused name is meant."""
        assert self.traced is not None
        now = source.place.value
        unused = [one for one in self.traced.named if one not in self.traced.parameters]
        names = {one.name for one in unused if one.place.value == now}
        for axis, other in (axes, axes[::-1]) if names else ():
            broken = self._doubled(source, [axis], [other])
            failure = self.probe.outcome(*broken)
            if failure.works is not False:
                continue
            edits = name_swaps(self.probe.text, self.tree, failure, (source.name, *sorted(names)))
            if cures := swap_cure(self.probe, edits, broken):
                says = f"Works only while {axes[0].name} = {axes[1].name}: `{source.name}` is both."
                return Finding("size", cures[0].edits[0].line, failure.layer, says, cures)
        return None

    def _tied(self, groups: list[Group], failure: Outcome) -> Finding:
        """Returns the finding about axes that have to be equal."""
        cures = self._untied(groups[0]) if len(groups) == 1 else ()
        pairs = [[axis.name for axis in group.axes] for group in groups]
        if cures:
            says = f"Works only while {' = '.join(pairs[0])}."
            return Finding("size", cures[0].edits[0].line, failure.layer, says, cures)
        rule = range_words(groups[0].range)
        also = f", and {rule}" if rule != FREE else ""
        words = f"{'; '.join(map(listed, pairs))} must be equal{also}."
        return Finding("size", failure.line, failure.layer, f"{words[0].upper()}{words[1:]}")

    def _untied(self, group: Group) -> tuple[Cure, ...]:
        """Returns the cure that puts the name of the right size where another one stands."""
        for axis in group.axes:
            for size in (axis.size + 1, 2 * axis.size):
                broken = moved(self.probe.inputs, (axis,), size), ()
                failure = self.probe.outcome(*broken)
                function = _function(self.tree, failure.call)
                names = size_names(function) if function else []
                edits = name_swaps(self.probe.text, function or self.tree, failure, names)
                if cures := swap_cure(self.probe, edits, broken):
                    return cures
        return ()

    def _example(self, groups: list[Group]) -> str:
        """Returns two different sizes of height and width that work, where these have steps."""
        rule = groups[0].range
        if len(groups) != 2 or rule.step == 1:
            return ""
        shapes, sizes = self.probe.inputs, []
        for times, group in enumerate(groups, 1):
            sizes.append(group.axes[0].size + rule.step * times)
            shapes = moved(shapes, group.axes, sizes[-1])
        fits = not rule.high or max(sizes) <= rule.high
        return f": {sizes[0]} × {sizes[1]} works" if fits and self.probe.works(shapes) else ""


def _is_tied(group: Group) -> bool:
    """Returns whether axes have to be equal that are not the batch of several inputs."""
    return len(group.axes) > 1 and not all(axis.is_batch for axis in group.axes)


def _function(tree: ast.AST, line: int) -> ast.FunctionDef | None:
    """Returns the innermost function around a line."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return found[-1] if found else None
