"""Ops that reorder, split, join or index arrays."""
