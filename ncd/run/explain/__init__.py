"""Explanations of a run: how one number came about, and sizes recorded on the way."""
