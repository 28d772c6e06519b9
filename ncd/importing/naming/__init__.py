"""Names for the axes of an imported module."""
