"""Explain: facts about a run, such as the arithmetic of a number and the autograd graph."""
