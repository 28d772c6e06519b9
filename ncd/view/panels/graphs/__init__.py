"""Panels of the networks on graphs."""
