"""Indexing, broadcasting, einops patterns, linear algebra, and loops over tiles."""
