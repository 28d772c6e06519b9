"""The language: axes, terms, circuits, and the plain data with which an op describes itself.

Nothing here or in ``ncd.ops`` imports torch: ops describe their torch code as expressions.
"""
