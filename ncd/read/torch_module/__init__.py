"""Torch modules as terms."""
