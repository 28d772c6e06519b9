"""The variational autoencoder's published sizes."""

import pytest

import ncd


@pytest.mark.parametrize(
    ("k", "where"),
    [(2, "appendix A and figure 4"), *((k, "section 5 and figure 2") for k in (3, 200))],
)
def test_a_preset_cites_the_figure_that_shows_it(k: int, where: str) -> None:
    """Figure 2 of the paper compares 3, 5, 10, 20 and 200 numbers; figure 4 is a walk in two."""
    assert ncd.catalogue["vae"].preset(f"mnist-{k}").source.endswith(f", {where}")
