"""Expressions, formulas and size polynomials."""
