"""A widget for notebooks: a diagram whose sizes move, with the values of its arrays."""

from ncd.widget.explorer import Explorer, explore

__all__ = ["Explorer", "explore"]
