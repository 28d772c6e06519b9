"""PyTorch source as a term: a small interpreter of its own, which knows only what is listed."""
