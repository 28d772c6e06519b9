"""Routing: the paths of wires between ops and inside them."""
