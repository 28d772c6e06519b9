"""Fit: which blocks are expanded and where rows break, for a given width."""
