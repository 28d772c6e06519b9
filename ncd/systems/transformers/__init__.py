"""Attention in its variants, feed-forwards, norms, and whole transformers."""
