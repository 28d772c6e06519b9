"""Transformer blocks and the parts that they share."""
