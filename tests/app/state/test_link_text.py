"""A text in a link comes back as it was, and a hostile one is refused within bounds."""

from __future__ import annotations

import random
import string
import zlib
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncd.app.state.link_text import LINK, LONGEST, MARK, compress_text, decompress_text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_a_text_comes_back(text: str) -> None:
    assert decompress_text(compress_text(text)) == text


def test_a_long_source_fits_and_noise_does_not() -> None:
    source = "".join(f"        self.layer_{i} = nn.Linear({i}, {i + 1})\n" for i in range(400))
    assert len(source) > 15_000
    assert len(compress_text(source)) < LINK
    assert decompress_text(compress_text(source)) == source
    noise = "".join(random.Random(0).choices(string.printable, k=20_000))
    assert compress_text(noise) == ""


def test_the_longest_link_and_the_longest_text_pass() -> None:
    """One letter more is refused."""
    longest = next(n for n in range(LINK, 3 * LINK) if not compress_text(_noise(n + 1)))
    assert LINK - 2 <= len(compress_text(_noise(longest))) <= LINK
    assert (
        decompress_text("x" * LONGEST)
        == decompress_text(_compressed(b"x" * LONGEST))
        == "x" * LONGEST
    )
    wide = "𝔸" * LONGEST  # of four bytes each
    assert decompress_text(_compressed(wide.encode())) == wide


def _noise(length: int) -> str:
    return "".join(random.Random(0).choices(string.ascii_letters + string.digits, k=length))


def _compressed(data: bytes) -> str:
    return MARK + urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


@pytest.mark.parametrize(
    "said",
    [
        MARK,
        f"{MARK}é",
        f"{MARK}AAAA",
        _compressed(b"x" * 10**8),
        _compressed(b"x" * (LONGEST + 1)),
        _compressed(b"\xff\xfe"),
        _compressed(b"whole")[:-4],
        "x" * (LONGEST + 1),
    ],
    ids=range(8),
)
def test_what_is_no_text_is_refused(said: str) -> None:
    assert decompress_text(said) is None
