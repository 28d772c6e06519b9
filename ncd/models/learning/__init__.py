"""Systems that show how gradients and training work."""
