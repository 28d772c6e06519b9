"""Edits: rules that change what a system computes."""
