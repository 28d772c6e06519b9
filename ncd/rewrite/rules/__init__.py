"""Rules that rewrite terms, the places that they are for, and terms with other parts there."""
