"""The device of a page: what it is, how runs are timed, and what is said when it is full."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.scene import scene
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import CACHE
from ncd.errors import LimitError
from ncd.run import device
from ncd.run.device import Timer
from ncd.systems.inputs.run_inputs import InputSpec
from tests.app.page.test_pages import attention, fine

FULL = LimitError("the run takes 9 bytes of memory, and cuda has 8 left", cure="again later")


def test_the_sidebar_says_what_the_device_is() -> None:
    app = attention()
    fine(app)
    captions = [caption.value for caption in app.sidebar.caption]
    assert device.description("cpu") in captions
    assert device.description("cpu").endswith(" GB")


def warned(app: AppTest) -> tuple[list[str], list[str]]:
    return [one.value for one in app.warning], [one.value for one in app.text]


@pytest.mark.parametrize("error", [FULL, RuntimeError("CUDA out of memory.\nMore words.")])
def test_a_full_device_is_a_refusal_and_the_next_run_works(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise error

    CACHE.clear()
    with monkeypatch.context() as filled:
        filled.setattr(ncd, "compile", full)  # of the learned weights
        app = attention(h="3", seed="77")
        fine(app)
        said = "The run on cpu failed. Try another device, or smaller sizes."
        assert warned(app) == ([said], [str(error).partition("\n")[0]])
    fine(app.run())
    assert warned(app) == ([], [])


def test_a_long_run_is_timed_by_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not by how long it took to ask a GPU for it."""

    class Told(Timer):
        def laps(self) -> list[float]:
            assert len(super().laps()) == 1
            return [12.5]

    monkeypatch.setattr(scene, "Timer", Told)
    entry = ncd.catalogue["llama"]  # of many ops
    term = entry.build()
    own = Scene(entry, entry.settings({}), 78, "cpu", InputSpec(), False, "names", "", term)
    CACHE.clear()
    assert own.trace.values
    assert CACHE["run seconds", term, "cpu"] == own.seconds == 12.5
    CACHE.clear()
