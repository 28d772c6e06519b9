"""The circuit of a term: placement on arrays, sizes, names."""
