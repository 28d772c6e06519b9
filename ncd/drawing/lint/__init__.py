"""The lint: checks of a finished drawing."""
