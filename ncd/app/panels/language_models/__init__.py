"""Panels of language models and of recurrent states."""
