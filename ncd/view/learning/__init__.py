"""Displays of what a system has learned."""
