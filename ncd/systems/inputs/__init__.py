"""Inputs of a run: pictures, words, symbols, or random arrays."""
