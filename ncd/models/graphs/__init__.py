"""Networks on graphs, in which nodes read their neighbours."""
