"""Lists of the names of torch, and of the methods of Python, that a source may use."""
