"""Networks on graphs, and small networks that show how training works."""
