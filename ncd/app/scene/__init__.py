"""The scene of a page: the term at its knobs, all that is derived from it, and its link."""
