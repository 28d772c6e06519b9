"""Linear ops: learned maps, products, units and parameters."""
