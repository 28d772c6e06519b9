"""A term as PyTorch source: a class that a person would be glad to have written."""
