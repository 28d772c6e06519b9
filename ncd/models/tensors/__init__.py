"""Indexing, broadcasting and einops patterns."""
