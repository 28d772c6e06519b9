"""A long diagram breaks into rows; what is too much for a picture is folded."""

import pytest

import ncd
from ncd import Add, Axes, Block, Copy, Elementwise, Id, Linear, Softmax, Term, Then, Wire, style_of
from ncd.drawing import Drawing, style
from ncd.drawing.lint import lint
from ncd.drawing.move import moved
from tests.drawing.large import LARGE
