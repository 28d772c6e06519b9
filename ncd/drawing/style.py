"""The one table of colours and sizes; a role has the same colour in every view.

Fills are the published figures' (read off in their units); the dark ones are partners of the same
hue on which light ink has a contrast of at least 4.5 : 1. Colour is never the only sign.
"""

from __future__ import annotations

from dataclasses import dataclass

from ncd.lang.roles import check_role

# role: fill on light pages, fill on dark pages
ROLES: dict[str, tuple[str, str]] = {
    "activate": ("#fce0e1", "#5a3338"),
    "concat": ("#ffd797", "#654614"),
    "convolution": ("#e5f2f9", "#27404e"),
    "copy": ("#f5d423", "#5f5208"),
    "einsum": ("#c5bedf", "#453c66"),
    "folded": ("#b8e986", "#3a5418"),
    "index": ("#a9bdff", "#263f94"),
    "linear": ("#e8eeeb", "#3a4842"),
    "mask": ("#e3e3e6", "#45464d"),
    "module": ("#ffe2bb", "#4c3a20"),
    "neutral": ("#f3f3f4", "#2c2e35"),
    "repeat": ("#f3f3f4", "#2c2e35"),
    "reshape": ("#fce0e1", "#5a3338"),
    "residual": ("#dbdfef", "#383f5c"),
    "scale": ("#fdf9c0", "#575017"),
    "shortcut": ("#f1f4c1", "#43471c"),
    "softmax": ("#cce7cf", "#2c4f33"),
    "weighted": ("#d4bedf", "#523a5e"),
    "window": ("#a9e3ff", "#1f5470"),
}


def fill(role: str, dark: bool = False) -> str:
    """The colour of a role.

    >>> fill("softmax"), fill("softmax", dark=True)
    ('#cce7cf', '#2c4f33')

    Raises UnknownNameError for a role that there is not.
    """
    check_role(role, "fill")
    return ROLES[role][dark]


@dataclass(frozen=True)
class Theme:
    """What is not a role: ink, page, the error mark and the shadow of fences."""

    ink: str
    page: str
    error: str
    shadow: float


LIGHT = Theme(ink="#16181d", page="#ffffff", error="#c3002f", shadow=0.35)
DARK = Theme(ink="#eceef2", page="#0e1117", error="#ff6b81", shadow=0.8)


def theme(dark: bool) -> Theme:
    """The theme of light or dark pages."""
    return DARK if dark else LIGHT


# All lengths are in drawing units (a screen pixel at scale 1), after the published figures.

# --- wires ---
AXIS_GAP = 21.0  # between two wires of one array
ARRAY_GAP = 36.0  # between two arrays, a dashed line in the middle
NEAR = 27.0  # wires nearer than this are neighbours
WIRE = 1.25
DOUBLE = 3.6  # between the two lines of a spatial wire
WIRE_ROOM = 2.0  # of the page over and under a wire
SEAM = 1.2  # by which the gap of a double wire overlaps that of the wire before it
HIT = 13.0  # the width in which a wire can be pointed at
DOT = 4.0
DOT_INSET = 8.0  # of a dot from the edge of its op
STUB = 7.0  # of a wire beside a mark
STILL = 0.5  # wires that bend less are straight
BEND, BENDS = 24.0, 110.0  # the least and the most room for a wire that bends
FALL, FALLS = 10.0, 120.0  # the same for one that comes down behind a contraction
CAP = 40.0  # from the edge of a contraction to its caps: the wires cross there
CAP_RADIUS = (8.0, 18.0)  # of a cap, along the wires
CAP_WAY = 26.0  # the least room behind a cap
CAP_HIT = 4.0  # where the part of a contraction that can be pointed at begins
CAP_CLEAR = 16.0  # behind a cap wires may bend
CAP_STEM = 17.0  # of the arrow that leaves a cap
JOIN, JOIN_TURN = 6.0, 14.0  # behind a cap, the first dot; before its end, the bend towards it
JOIN_STEP = 12.0  # from one dot to the next

# --- text ---
NAME = 16.0  # an axis name
LETTER = 25.0  # the bold L of a learned map
BIG = 27.0  # the name of an array
TITLE = 14.0  # a fence's title
LEADING = 17.0  # from line to line of a title
SIGN = 19.0  # the letter of an elementwise function
BOXED = 17.0  # the text in a box
SUM = 18.0  # the + of a sum
WINDOW = 14.0  # kernel and stride
WORD = 15.0  # Max, mean and the like
SMALL = 12.0  # Max in a window
TINY = 11.0  # the T of a transposed convolution
LABEL_LIFT = 4.5  # of a name's baseline over its wire
LABEL_ROOM = 1.5  # of a name from the wire over it, and of its descent from its own
LABEL_GAP = 12.0  # between two names on one wire

# --- marks ---
OUTLINE = 1.5
GLYPH = 2.25  # the heavy outline of a convolution box
ARROW = 7.0  # the length of an arrowhead
SIDE = 9.0  # of a mark over and under its wires
INSET = 6.0  # of a text from the side of its box
GAP = 3.0  # between a wire's end and a letter
CLEAR = 15.0  # of a letter from the wires that pass over it
REACH = 13.0  # over and under its middle, in which wires end at a letter
OVER = 17.0  # of a letter that has no wires of its own, over those that it works along
DESCENT = 5.5  # of the baseline of a text from its middle
FOOT = 5.0  # over and under the ink of a letter, in which wires end at it
SIGN_LIFT = 8.0  # of what stands over an array, from its first wire
FACTOR_LIFT = 4.0  # of a factor over its arrow
PLUS_LIFT = 7.0
HEADROOM_LETTER, HEADROOM_SIGN, HEADROOM_PLUS, HEADROOM_ARROW = 28.0, 22.0, 16.0, 24.0
TRIANGLE = (8.5, 11.0)  # half its length, half its height
CIRCLE = 9.5  # its radius
STAR = 6.5  # its radius
STAR_ROOM = 15.0
TRAPEZOID = (21.0, 12.0, 10.0, 8.0)  # half its length; over, under its wires; what it widens by
TRAPEZOID_STAR, TRAPEZOID_TEXT, TRAPEZOID_FLIP = 12.0, 7.0, 15.0  # from its middle
PENTAGON = 9.0  # the length of its tip
BAR = (2.5, 6.0, 12.0)  # half its width; over and under its wires; from the edge if it stands there
BAR_ROOM = 34.0
BAR_SLOT = 12.0  # between wires that are brought together at a bar
SIGN_ROOM, BOX_ROOM, ARROW_ROOM, NAME_ROOM, PLUS_ROOM = 30.0, 16.0, 24.0, 14.0, 40.0
NAME_INSET = 4.0
NAME_DROP = 9.0
NUDGE = 2.0  # between a letter and its arrowheads; around the wires at a name
MARK_HIT = 4.0  # around a mark, where it can be pointed at
LETTER_ROOM = 4.0

# --- fences, brackets, dashed lines, the page ---
PAD = 8.0  # of a fence around what it holds
INNER = 5.0  # of a fence around another
INK = 3.0  # of a fence around marks and names
SKY, GROUND = 10.0, 9.0  # of a fence over and under its wires
FENCE_EDGE = 1.0  # of a fence from the room that it has
TITLE_SIDE = 6.0  # of a title from the sides of its fence
TITLE_ROOM = (3.0, 5.0)  # over the wires: in the fence, and in all
TITLE_BASE = 1.0  # of the last line's baseline over its room
TITLE_WORD = 10.0  # more than its longest word a fence is wide
BRACKET = 3.0
BULGE = 2.0  # of a bracket from the side of its room
BRACKET_ROOM = 20.0  # over and under a bracket, for what it counts
BRACKET_FOOT, BRACKET_HEAD = 15.0, 6.0
BETWEEN = 4.0  # two fences one over the other
DASH = (7.5, 6.0)
DASH_WIDTH = 2.0
DASH_BELOW, DASH_ABOVE = 10.0, 20.0  # clear of the wire over it, and of the name under it
DASH_TITLE = 12.0  # clear of a title under it
DASH_REACH = 36.0  # into an op that takes both arrays
STEP, END = 6.0, 16.0  # the least widths of a step, and of a state at an end
EMPTY = (40.0, 20.0)  # the page of a drawing in which nothing stands
MARGIN = 10.0  # of the drawing
SHADOW = 2.2
ERROR, ERROR_DASH = 2.5, (4.0, 3.0)
CORNER = 4.0
