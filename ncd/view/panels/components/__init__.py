"""Panels about parts of language models: caches, positions, windows, states, low ranks."""
