"""Panels of language models."""
