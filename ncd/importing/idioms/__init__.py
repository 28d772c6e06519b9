"""Norms, activations and softmax that a module writes out step by step."""
