"""Panels of what an algorithm moves between slow and fast memory."""
