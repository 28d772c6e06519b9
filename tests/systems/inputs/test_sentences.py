"""Sentences that visitors type: what is one token."""

from __future__ import annotations

from ncd.systems.inputs.text_inputs import tokens


def test_joined_emoji_are_one_token() -> None:
    assert tokens("👩‍🚀 flies") == ["👩‍🚀", "flies"]


def test_a_space_ends_a_token_also_after_a_joiner() -> None:
    assert tokens("a\u200d b") == ["a\u200d", "b"]
