"""The quiz about the shapes of arrays."""
