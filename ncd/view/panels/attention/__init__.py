"""Panels about attention and sequences."""
