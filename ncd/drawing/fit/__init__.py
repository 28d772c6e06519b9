"""Fit: the choice of expanded blocks and row breaks for a given width."""
