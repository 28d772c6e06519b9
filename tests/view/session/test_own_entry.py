"""The entry of a text: what its length allows."""

from __future__ import annotations

from ncd.view.session.own_entry import own_entry


def test_a_long_text_gives_fewer_axes_a_default_size() -> None:
    """Each of them is solved for through the whole text."""

    def chain(axes: int, more: int) -> str:
        maps = [f'Linear("a{n} -> a{n + 1}", "L{n}")' for n in range(axes)]
        return " >> ".join([*maps, *['Elementwise("tanh")'] * more])

    assert len(own_entry(chain(24, 0)).knobs) == 25
    assert len(own_entry(chain(24, 800)).knobs) == 1 + 10_000 // 824
