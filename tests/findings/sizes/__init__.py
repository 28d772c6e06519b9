"""Tests of the sizes for which a source works."""
