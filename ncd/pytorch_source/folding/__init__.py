"""Modules of a large model as boxes, so that the levels above them can be drawn."""
