"""The einops page: patterns that a visitor types."""
