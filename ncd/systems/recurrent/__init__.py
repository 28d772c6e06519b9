"""Recurrent networks, which carry a state along a sequence."""
