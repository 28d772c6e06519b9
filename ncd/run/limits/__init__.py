"""Limits: what a run would take, and what it took."""
