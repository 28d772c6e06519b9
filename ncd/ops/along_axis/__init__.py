"""Ops along an axis: reductions, softmax, normalisation, the largest values."""
