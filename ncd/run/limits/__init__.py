"""Limits: the needs of a run, stated before it and measured after it."""
