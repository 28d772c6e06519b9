"""The circuit of a term: its columns of arrays and ops, sizes and names."""
