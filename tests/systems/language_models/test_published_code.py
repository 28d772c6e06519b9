"""The terms of language models compute what the code of their authors does.

These are the tests of the reader of configurations, whose models are these terms at other sizes
and choices than those of the catalogue: they say as much of the terms as of the reader.
"""

from tests.read.configs.test_published_models import (
    test_outputs_and_gradients_are_those_of_the_published_code as test_published_code,
)

__all__ = ["test_published_code"]
