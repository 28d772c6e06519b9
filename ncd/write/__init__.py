"""Write: a term as PyTorch source, ONNX, JSON or text."""
