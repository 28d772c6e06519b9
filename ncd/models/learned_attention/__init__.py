"""Small transformers with trained weights."""
