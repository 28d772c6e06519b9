"""Axes, arrays and types."""
