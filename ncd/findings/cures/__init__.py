"""Edits of a source after which its failure is gone, as reading it again shows."""
