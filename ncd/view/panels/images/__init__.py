"""Panels of the networks on pictures: kernels, windows, similarities, steps, planes of pictures."""
