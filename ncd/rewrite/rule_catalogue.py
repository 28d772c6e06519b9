"""The rules by their names, a line for each, in the order of the menu."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.rewrite.edits.insert import Insert
from ncd.rewrite.edits.remove import Remove
from ncd.rewrite.edits.replace_op import Replace
from ncd.rewrite.rules.rule import Rule

EDITS: tuple[Rule, ...] = (Remove(), Replace(), Insert())
LAWS: tuple[Rule, ...] = ()
RULES: Mapping[str, Rule] = {rule.name: rule for rule in (*EDITS, *LAWS)}
