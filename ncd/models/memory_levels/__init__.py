"""Algorithms that are cut into tiles, so that they move little between memories."""
