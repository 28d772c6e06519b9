"""Panels of the networks on pictures."""
