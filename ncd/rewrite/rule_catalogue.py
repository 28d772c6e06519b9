"""The rules by their names, a line for each, in the order of the menu."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.rewrite.edits.axis_edits import RenameAxis, ResizeAxis, SplitAxis
from ncd.rewrite.edits.grouped_heads import GroupHeads
from ncd.rewrite.edits.insert import Insert
from ncd.rewrite.edits.remove import Remove
from ncd.rewrite.edits.replace_op import Replace
from ncd.rewrite.edits.rewire import Bypass, MoveAlongWire, Skip
from ncd.rewrite.edits.unwrap import LayerCount, ShareWeights, Unwrap
from ncd.rewrite.edits.wrap import (
    Duplicate,
    LowRankAdapter,
    WrapBlock,
    WrapRepeat,
    WrapResidual,
)
from ncd.rewrite.laws.axis_laws import CancelInverses, ThroughBroadcast
from ncd.rewrite.laws.linear_laws import (
    AbsorbNormWeights,
    AbsorbScale,
    AbsorbScaleInNorm,
    AddLinears,
    ComposeLinear,
    FoldBatchNorm,
    FuseLinears,
)
from ncd.rewrite.laws.product_laws import BestOrder, DistributeOverSum, MergeEinsums, MoveScale
from ncd.rewrite.laws.unroll import Unroll
from ncd.rewrite.laws.write_out import WriteOut
from ncd.rewrite.rules.rule import Rule

EDITS: tuple[Rule, ...] = (
    Remove(),
    Bypass(),
    Replace(),
    GroupHeads(),
    Insert(),
    WrapResidual(),
    WrapRepeat(),
    WrapBlock(),
    LowRankAdapter(),
    Duplicate(),
    Unwrap(),
    LayerCount(),
    ShareWeights(),
    MoveAlongWire(),
    Skip(),
    RenameAxis(),
    ResizeAxis(),
    SplitAxis(),
)
LAWS: tuple[Rule, ...] = (
    WriteOut(),
    ComposeLinear(),
    AddLinears(),
    FuseLinears(),
    AbsorbScale(),
    AbsorbScaleInNorm(),
    AbsorbNormWeights(),
    FoldBatchNorm(),
    MergeEinsums(),
    BestOrder(),
    DistributeOverSum(),
    MoveScale(),
    CancelInverses(),
    ThroughBroadcast(),
    Unroll(),
)
RULES: Mapping[str, Rule] = {rule.name: rule for rule in (*EDITS, *LAWS)}
