"""The sizes for which a source works, each boundary of which was read."""
