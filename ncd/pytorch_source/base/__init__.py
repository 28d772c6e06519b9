"""The state of an interpretation, its values, and the operators on them."""
