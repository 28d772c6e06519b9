"""Systems: the catalogue, with lessons, inputs, data and training."""
