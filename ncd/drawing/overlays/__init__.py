"""Overlays: cell grids, callouts and arrows drawn beside or over the circuit."""
