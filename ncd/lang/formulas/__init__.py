"""Expressions, formulas and polynomials of sizes."""
