"""Terms: ops and the structure that joins them."""
