"""The ground floor: axes, terms, circuits, and the plain data with which an op answers.

Nothing here, nor in ``ncd.ops``, imports torch: what runs is said as expressions.
"""
