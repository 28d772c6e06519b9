"""Marks: the shapes on the wires."""
