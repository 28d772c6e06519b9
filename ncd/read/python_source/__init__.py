"""PyTorch source as a term, read by a small interpreter that supports only listed names."""
