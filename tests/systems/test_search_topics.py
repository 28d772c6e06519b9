"""What is searched for, and what answers it."""

from __future__ import annotations

import pytest

import ncd
from ncd.systems.search_topics import TOPICS


def test_every_answer_is_a_system_and_stands_once() -> None:
    for word, names in TOPICS.items():
        assert word == word.lower().strip() and "-" not in word and names, word
        assert {*names} <= {*ncd.catalogue}, word
        assert len({*names}) == len(names), word


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cnn", "there is no system 'cnn'. Try lenet."),
        ("KV-cache", "there is no system 'KV-cache'. Try decoder-only-block."),
        ("llamas", "there is no system 'llamas'. Try llama."),
    ],
)
def test_a_topic_is_answered_where_a_system_is_asked_for(name: str, message: str) -> None:
    with pytest.raises(ncd.UnknownNameError) as error:
        ncd.catalogue[name]
    assert str(error.value) == message
