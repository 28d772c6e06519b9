"""Notation: the text of the language, read without evaluating anything, and written."""
