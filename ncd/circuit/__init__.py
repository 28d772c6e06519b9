"""Circuit: a term on sized arrays, with its wiring, the solver of its sizes, and its costs."""
