"""Inputs that visitors choose, type, upload or draw."""
