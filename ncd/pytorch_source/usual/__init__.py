"""Usual sizes, inputs and layers, for those that a source takes from elsewhere or lacks."""
