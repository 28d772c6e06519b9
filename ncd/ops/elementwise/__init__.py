"""Elementwise ops: formulas, sums, dropout and abstract functions."""
