"""Placement: the coordinates of wires, ops, labels and fences."""
