"""Panels that every page can show."""
