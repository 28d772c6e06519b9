"""Findings about a PyTorch source: failures, silent faults and sizes, with edits as their cures."""
