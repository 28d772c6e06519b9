"""Formulas: one scalar language, with its functions, derivative, LaTeX, and traced sizes."""
