"""Drawings without a fault, for the tests that plant one."""

import pytest

import ncd
from ncd import Einsum, Id, Linear
from ncd.drawing.backends.drawing import Drawing


@pytest.fixture(scope="module")
def attention() -> Drawing:
    return ncd.draw(ncd.catalogue["multi-head-attention"].build(), width=None)


@pytest.fixture(scope="module")
def plain() -> Drawing:
    """Three arrays, of which one is mapped."""
    return ncd.draw(Id("y:2 m:3, x:4, z:5") >> Linear("m -> k:6", "Q"))


@pytest.fixture(scope="module")
def turned() -> Drawing:
    """Four wires in another order."""
    return ncd.draw(Einsum("a:2 b:3 c:4 d:5 -> b a d c"))


@pytest.fixture(scope="module")
def product() -> Drawing:
    return ncd.draw(Einsum("a:2 b:3, b c:4 -> a c"))
