"""The plan: the circuit as columns and rows, before it has coordinates."""
