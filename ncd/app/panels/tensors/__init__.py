"""Panels about indexing, memory and equations."""
