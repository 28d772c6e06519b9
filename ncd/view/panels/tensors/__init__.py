"""Panels about indexing, memory order and equations."""
