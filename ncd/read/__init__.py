"""Read: text, PyTorch source, torch modules and configurations as terms."""
