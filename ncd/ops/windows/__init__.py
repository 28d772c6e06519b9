"""Ops on sliding windows: convolution, pooling, unfolding."""
