"""The base of a run: devices, limits, and weights and inputs drawn from a seed."""
