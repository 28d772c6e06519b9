"""Panels about attention, positions and caches."""
