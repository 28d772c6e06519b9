"""Linear ops: learned maps, einsums, units and parameters."""
