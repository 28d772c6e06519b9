"""Reasons of failures, in words that a student understands."""
