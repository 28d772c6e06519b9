"""Execution: the module of a term, its program, and fused attention."""
