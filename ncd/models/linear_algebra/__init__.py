"""Linear algebra as diagrams."""
