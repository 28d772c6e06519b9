"""Rewrite: term to term, such as gradients, and loops over tiles."""
