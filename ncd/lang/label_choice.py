"""The choices for the labels of wires: their names, their sizes, or both."""

from typing import Literal

Labels = Literal["names", "sizes", "both"]
