"""Collapse: blocks, repeated layers and saved arrays that a drawing abbreviates."""
