"""Routing: how wires run between ops and inside them."""
