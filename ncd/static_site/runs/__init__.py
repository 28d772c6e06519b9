"""The run of a system in the visitor's browser."""
