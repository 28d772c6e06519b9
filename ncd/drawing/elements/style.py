"""The one table of colours and sizes; a role has the same colour in every view.

Colour is never the only sign. Ink on every fill has a contrast of at least 4.5 : 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from ncd.language.arguments import Palette
from ncd.language.blocks import check_role

Fills = dict[str, tuple[str, str]]  # by the role: on light pages, on dark pages

# What learns is blue, what contracts violet, what goes number by number or into shares green, what
# copies or moves sand, what looks at windows teal; containers are nearly the page, callouts cream.
QUIET: Fills = {
    "activate": ("#c4d9c6", "#243a2b"),
    "concat": ("#e4d3b1", "#5a4d35"),
    "convolution": ("#d5e8f9", "#26394b"),
    "copy": ("#e4d3b1", "#5a4d35"),
    "data": ("#fff3cf", "#453d1c"),
    "diagonal": ("#fbf0d0", "#4b4120"),
    "einsum": ("#dfd5eb", "#484059"),
    "folded": ("#dfe5ea", "#36404b"),
    "index": ("#c3dcdf", "#345054"),
    "linear": ("#d5e8f9", "#26394b"),
    "mask": ("#dcdfe3", "#3d424a"),
    "model": ("#ece7f2", "#2c2736"),
    "module": ("#f6f4f0", "#1b1f25"),
    "neutral": ("#f3f3f4", "#24282f"),
    "note": ("#fbe6a8", "#5a4a12"),
    "operation": ("#cddcec", "#2f4560"),
    "repeat": ("#f3f3f4", "#24282f"),
    "reshape": ("#e4d3b1", "#5a4d35"),
    "residual": ("#eceef2", "#262b33"),
    "scale": ("#f2ecd2", "#4a4427"),
    "shortcut": ("#e9efdf", "#333a28"),
    "softmax": ("#c4d9c6", "#243a2b"),
    "transpose": ("#cfdccb", "#33422f"),
    "weighted": ("#e8d6e3", "#573f53"),
    "window": ("#c3dcdf", "#345054"),
}

# The fills of the published figures, read off in their units; the dark ones have the same hue.
PAPER: Fills = {
    "activate": ("#fce0e1", "#5a3338"),
    "concat": ("#ffd797", "#654614"),
    "convolution": ("#e5f2f9", "#27404e"),
    "copy": ("#f5d423", "#5f5208"),
    "data": ("#e28ff1", "#6b3a78"),
    "diagonal": ("#fbec6a", "#6a5200"),
    "einsum": ("#c5bedf", "#453c66"),
    "folded": ("#b8e986", "#3a5418"),
    "index": ("#a9bdff", "#263f94"),
    "linear": ("#e8eeeb", "#3a4842"),
    "mask": ("#e3e3e6", "#45464d"),
    "model": ("#e3cefa", "#4a3566"),
    "module": ("#ffe2bb", "#4c3a20"),
    "neutral": ("#f3f3f4", "#2c2e35"),
    "note": ("#fff591", "#57500f"),
    "operation": ("#9dc7ff", "#1f4a80"),
    "repeat": ("#f3f3f4", "#2c2e35"),
    "reshape": ("#fce0e1", "#5a3338"),
    "residual": ("#dbdfef", "#383f5c"),
    "scale": ("#fdf9c0", "#575017"),
    "shortcut": ("#f1f4c1", "#43471c"),
    "softmax": ("#cce7cf", "#2c4f33"),
    "transpose": ("#bfd4b4", "#36492c"),
    "weighted": ("#d4bedf", "#523a5e"),
    "window": ("#a9e3ff", "#1f5470"),
}

# Greys for a printer without colours: containers are the page's white, and what quiet tells apart
# by hue stands at steps of grey that are still apart in print.
_BLANK, _LEARNS, _CONTRACTS = ("#ffffff", "#161616"), ("#ececec", "#242424"), ("#dadada", "#343434")
_POINTWISE, _MOVES, _LOOKS = ("#c8c8c8", "#414141"), ("#b6b6b6", "#4d4d4d"), ("#a4a4a4", "#5a5a5a")
BLACK_AND_WHITE: Fills = {
    "activate": _POINTWISE,
    "concat": _MOVES,
    "convolution": _LEARNS,
    "copy": _MOVES,
    "data": _BLANK,
    "diagonal": _LEARNS,
    "einsum": _CONTRACTS,
    "folded": _CONTRACTS,
    "index": _LOOKS,
    "linear": _LEARNS,
    "mask": _CONTRACTS,
    "model": _BLANK,
    "module": _BLANK,
    "neutral": _BLANK,
    "note": _LEARNS,
    "operation": _POINTWISE,
    "repeat": _BLANK,
    "reshape": _MOVES,
    "residual": _BLANK,
    "scale": _LEARNS,
    "shortcut": _BLANK,
    "softmax": _POINTWISE,
    "transpose": _MOVES,
    "weighted": _CONTRACTS,
    "window": _LOOKS,
}

PALETTES: dict[Palette, Fills] = {"quiet": QUIET, "paper": PAPER, "bw": BLACK_AND_WHITE}
SHADOW_PALETTES: tuple[Palette, ...] = ("paper",)  # coloured shapes of others have borders


def role_colour(role: str, dark: bool = False, palette: Palette = "quiet") -> str:
    """Returns the colour of a role.

    >>> role_colour("copy"), role_colour("copy", dark=True), role_colour("copy", palette="paper")
    ('#e4d3b1', '#5a4d35', '#f5d423')

    Raises UnknownNameError for a role that there is not.
    """
    check_role(role, "fill")
    return PALETTES[palette][role][dark]


@dataclass(frozen=True)
class Theme:
    """The colours that are not roles: ink, page, error mark, and the blue of touched cells.

    ``edge`` is the border of coloured shapes, ``shadow`` how opaque their shadow is in the paper's
    palette. ``light`` is the ink on that blue. ``lift`` marks axes over which
    everything is broadcast, ``inner`` those that only some inputs have.
    """

    ink: str
    page: str
    error: str
    edge: str
    shadow: float
    touch: str
    lift: str
    inner: str
    light: str = "#ffffff"


LIGHT = Theme(
    ink="#16181d",
    page="#ffffff",
    error="#c3002f",
    edge="#b4b3b0",
    shadow=0.35,
    touch="#1647ff",
    lift="#8f14ff",
    inner="#dc3040",
)
DARK = Theme(
    ink="#eceef2",
    page="#101419",
    error="#ff6b81",
    edge="#6b717b",
    shadow=0.8,
    touch="#3f66ff",
    lift="#9554ff",
    inner="#dd3b44",
)
LIGHT_GREY = Theme(
    ink="#000000",
    page="#ffffff",
    error="#000000",
    edge="#707070",
    shadow=0.35,
    touch="#404040",
    lift="#606060",
    inner="#303030",
)
DARK_GREY = Theme(
    ink="#ffffff",
    page="#101010",
    error="#ffffff",
    edge="#909090",
    shadow=0.8,
    touch="#666666",
    lift="#a0a0a0",
    inner="#d0d0d0",
)
COLOURS = ("ink", "page", "error", "edge", "touch", "lift", "inner", "light")


def theme(dark: bool, palette: Palette = "quiet") -> Theme:
    """Returns the theme of light or dark pages; in black and white all of it is grey."""
    if palette == "bw":
        return DARK_GREY if dark else LIGHT_GREY
    return DARK if dark else LIGHT


def paint_colour(name: str, dark: bool = False, palette: Palette = "quiet") -> str:
    """Returns the colour of a role, of a name of the theme such as "ink", or "none".

    >>> paint_colour("ink"), paint_colour("softmax")
    ('#16181d', '#c4d9c6')
    """
    if name == "none":
        return name
    if name in COLOURS:
        return str(getattr(theme(dark, palette), name))
    return role_colour(name, dark, palette)


# All lengths are in drawing units (a screen pixel at scale 1), after the published figures.

# --- wires ---
AXIS_GAP = 21.0  # between two wires of one array
ARRAY_GAP = 36.0  # between two arrays, a dashed line in the middle
NEIGHBOUR_GAP = 27.0  # wires nearer than this are neighbours
WIRE = 1.25
DOUBLE = 3.6  # between the two lines of a spatial wire
WIRE_ROOM = 2.0  # of the page over and under a wire
SEAM = 1.2  # by which the gap of a double wire overlaps that of the wire before it
DOT = 4.0
DOT_INSET = 8.0  # of a dot from the edge of its op
STUB = 7.0  # of a wire beside a mark
LEVEL_TOLERANCE = 0.5  # wires that bend less are straight
CROSS = 0.7  # the room for each unit that a wire bends which crosses others
SLOPE = 0.36  # the room for each unit that a wire bends
BEND, BENDS = 14.0, 160.0  # the least and the most room for a wire that bends
CROSSING, CROSSING_ANGLE = (20.0, 60.0), 1.0  # the room for wires to change places in a round
FALL, FALLS = 4.0, 200.0  # the same for one that comes down behind a contraction
STEEP = 0.42  # the room for each unit that it comes down
CAP_LEAD = 14.0  # from the edge of a contraction to its caps
CAP_RADIUS = (8.0, 18.0)  # of a cap: the least, and the most where its wires are far apart
CAP_NEST = 11.0  # from one apex to the next
CAP_WAY = 15.0  # the least room behind a cap
CAP_HIT = 4.0  # where the part of a contraction that can be pointed at begins
CAP_CLEAR = 16.0  # behind a cap wires may bend
CAP_STEM = 17.0  # of the arrow that leaves a cap
JOIN, JOIN_TURN = 8.0, 16.0  # the first dot behind an arrow; from the edge if there is none
JOIN_IN, JOIN_RADIUS = 4.0, 11.0  # inside a cap, from its beginning; of the corner before a dot
LEAVE = 0.25  # the part of its way that a wire stays level at a dot
JOIN_STEP = 12.0  # from one dot to the next

# --- text ---
NAME = 16.0  # an axis name
LETTER = 25.0  # the bold L of a learned map
BIG = 27.0  # the name of an array
TITLE = 14.0  # a fence's title
LEADING = 17.0  # from line to line of a title
SIGN = 19.0  # the letter of an elementwise function
BOX_TEXT = 17.0  # the text in a box
SUM = 18.0  # the + of a sum
WINDOW = 15.5  # kernel and stride
WORD = 15.5  # Max, mean and the like
TINY = 11.0  # the T of a transposed convolution
LABEL_LIFT = 4.5  # of a name's baseline over its wire
LABEL_ROOM = 1.5  # of a name from the wire over it, and of its descent from its own
LABEL_TIGHT = 4.0  # of a name between two fences, which have room of their own
LABEL_GAP = 9.0  # between two names on one wire

# --- marks ---
OUTLINE = 1.5
GLYPH = 2.25  # the heavy outline of a convolution box
ARROW = 7.0  # the length of an arrowhead
SIDE = 9.0  # of a mark over and under its wires
INSET = 6.0  # of a text from the side of its box
GAP = 3.0  # between a wire's end and a letter
CLEAR = 15.0  # of a letter from the wires that pass over it
UPRIGHT = 2.0  # the width of a bar at a letter, where more wires end than it is high
REACH = 13.0  # over and under its middle, in which wires end at a letter
LETTER_LIFT = 17.0  # of a letter that has no wires of its own, over those that it works along
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
TRAPEZOID = (14.0, 13.0, 26.0)  # from its wire to its level side, and to the ends of its slope
PENTAGON = 9.0  # the length of its tip
BAR = (2.5, 6.0, 5.5)  # half its width; over and under its wires; from the edge if it stands there
BAR_ROOM, BAR_MORE = 34.0, 8.0  # and for each wire more than two
BAR_SLOT, BAR_TIGHT = 12.0, 4.0  # between wires at a bar, and between many beside wires with dots
SIGN_ROOM, BOX_ROOM, ARROW_ROOM, NAME_ROOM, PLUS_ROOM = 30.0, 16.0, 14.0, 14.0, 34.0
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
FENCE_GAP = 4.0  # two fences one over the other
LETTERS = 22.0  # of letters in two fences, one over the other, beyond their wires
FENCE_CLEARANCE = 21.0  # under a fence, clear of the name of the wire there
DASH = (7.5, 6.0)
DASH_WIDTH = 2.0
DASH_BELOW, DASH_ABOVE = 10.0, 20.0  # clear of the wire over it, and of the name under it
DASH_TITLE = 13.0  # clear of a title under it
DASH_BORDER = 4.0  # more clear of what is over it, if that is in a fence
DASH_FREE, DASH_LEAST = 4.0, 20.0  # clear of all that it would run through; its longest piece
DASH_STUB = 34.0  # its other pieces are no shorter: three dashes
DASH_STEEP = 1.5  # where it would fall further for each unit along, it is cut
DASH_REACH = 36.0  # into an op that takes both arrays
STEP, END = 6.0, 16.0  # the least widths of a step, and of a state at an end
EMPTY_PAGE = (40.0, 20.0)  # the page of a drawing in which nothing stands
MARGIN = 10.0  # of the drawing
MARKED_WIRE = 1.2  # the outline of a row in a thumbnail
WITH_THUMBNAILS = 1.4  # times the height that a drawing may have without them
THUMBNAIL_ROOM = 7.0  # between a thumbnail and the wires around it
PICTURE_CLEAR = 3.0  # between a thumbnail and a separator
THUMBNAIL_SIDE = 9.0  # on both sides of it
SHADOW = 2.2  # the deviation of the soft shadow
EDGE = 1.0  # the border of a coloured shape
ERROR, ERROR_DASH = 2.5, (4.0, 3.0)
CORNER = 4.0

# --- folded blocks and rows ---
BLOCK_DEPTH = 9.0  # of the slanted faces of a box
BLOCK_SIDE = 13.0  # of its front over and under its wires
BLOCK_INSET = 9.0  # of its text from its edges
BLOCK_HALF = 26.0  # half of the least width of its front
BLOCK_LINE = 124.0  # the longest line in it, where single words allow it

# --- equations, columns, cells, notes ---
EQUALS = 30.0  # the = between two sides
EQUALS_ROOM = 16.0  # of it from a side
DEF_WORD = 12.0  # the def over it
SAID, SAID_WIDE = 13.0, 90.0  # other words over it, and how wide they are
LINE_GAP = 14.0  # between two lines of an equation
ROUGH = 1.05  # how much wider than its estimate a row may be
CAP_ROOM = 130.0  # what the caps of a contraction take, for estimates
ROW_GAP = 12.0  # between two rows
BENT_ARROW = (26.0, 13.0)  # of an arrow to the next row: how long, how far down
BENT_HEAD = 10.0
READABLE, TALLEST = 11.0, 900.0  # pixels of a name at least, and of a picture's height at most
OUTERMOST = 1.35  # the same height for what would be one box otherwise, and few ops beside it
MAX_BARE_OPS = 2  # ops of such a picture, with the box
TIGHTER = 0.02  # the part of a picture that the next try leaves free
REFUSALS = 3  # blocks of one level that may not fit before the next level is tried
BAND_GAP = 5.0  # between two columns
BAND_SIDE = 10.0  # of a column from the names in it
BAND_TOP, BAND_FOOT = 21.0, 11.0  # over and under its wires
BAND_HIGH, BAND_FENCED = (26.0, 16.0), (9.0, 8.0)  # the same of operations; of those in a fence
LIFT = 17.0, 5.0, 6.0  # of a broadcast band over and under its wire; short of the wire's ends
BAND_OUT = 14.0  # of a wire from the first and the last column
BAND_PANEL = 10.0  # of a block around everything from them
CELL = 17.0  # the side of a cell
SLAB = (7.0, 4)  # from one slab to the next, and how many are drawn
CELLS_MOST = 8  # along one side
CELLS_ROOM = 18.0  # from the wires
CELLS_GAP = 14.0  # between the grids of two arrays
CELL_LINE = 1.0
RULER, RULER_TICK = 2.5, 11.0  # its thickness; the length of the tick at its end
RULER_TEXT = 4.0  # of the length from its ruler
TOUCH_WAY, TOUCH_DROP = 3.5, 12.0  # the width of the arrow; how far under all else it runs
TOUCH_HEAD, TOUCH_ROOM = 12.0, 6.0  # of its head; of its middle from all else
CALLOUT, CALLOUT_LEADING = 13.0, 16.5  # the text of a callout, and from line to line of it
CALLOUT_PAD = 7.0  # of its text from its sides
CALLOUT_WIDE = (110.0, 330.0, 16.0)  # its least and greatest width; the width by its length
CALLOUT_BASE = 13.0  # half the width of its pointer where it begins
CALLOUT_GAP = 9.0  # of it from all else
CALLOUT_TIP = 3.0  # of the pointer from an op, and into a fence
CALLOUT_STEP = 14.0  # from one place that is tried to the next
LEGEND_WIDE = (260.0, 620.0)  # of a text over the diagram
HIGHLIGHT_ROOM = 4.5  # of a highlight around what it highlights

# --- signs ---
NOTE, NOTE_LONGEST = 13.0, 32  # the name of a layer in small letters, and how many of them
NOTE_LIFT = 5.5  # of its baseline over the middle of the letter
MAP = 27.0  # the italic letter of a map that is not learned
FUNCTION = 24.0  # the letter in a function's box
FUNCTION_HALF = 16.0  # half of the least width of that box
ARRAY = 20.0  # the name of a learned array
EXPECT = 19.0  # the E of a mean
ARROW_WAY = 18.0  # the arrow at which a word ends its wire
WINDOW_WIDE, WINDOW_TEXT = 32.0, 9.0  # a trapezoid, and the stride that fits into it
WINDOW_STAR, WINDOW_STROKE = (11.0, 4.0), (6.0, 3.0)  # from its left or right, and its wire
WINDOW_LOW, WINDOW_SIDE = 9.0, 3.5  # the stride, from its wire and from its right
WINDOW_ROW, WINDOW_LABEL = 21.5, 10.5  # from the places, the window axis and its label
WINDOW_WAY = 10.0  # more than its label the window axis is long
WINDOW_OPEN = 16.0  # its length where it is a wire of its own
WINDOW_ENTER = 4.5  # from the middle of a letter, where the window axis enters
WINDOW_FLIP = 11.0  # the T of a transposed convolution, behind its trapezoid
WINDOW_OUT, WINDOW_IN = 9.0, 6.0  # from the wire, in which the places leave
DUCK = 33.0  # from the places, clear of what the window axis ends in
HEADROOM_WINDOW, FOOTROOM_WINDOW = 8.0, 14.0
PILL = (16.5, 13.0)  # half the width of the sign of an RMS norm, and the letters in it
MASK = 12.0  # half the width of a mask
LINK = (5.0, 6.0)  # half the width and the length of the triangle on a wire of places
CUP_ROOM = 30.0
MEMORY, MEMORY_INSET = 40.0, 7.0  # the least height of a memory note; of its text from its sides
