"""Panels about training and what a system has learned."""
