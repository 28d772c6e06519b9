"""ONNX: a term as a model that other runtimes run, with symbolic sizes where its ops allow them."""
