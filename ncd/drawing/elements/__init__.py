"""Elements of drawings: style, shapes, labels, columns of a plan, and how wires run."""
