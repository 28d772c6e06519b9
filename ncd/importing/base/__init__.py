"""Dimensions as atoms, tensors while they are imported, and the record of steps."""
