"""What the tests of the view share."""

import pytest

from ncd.view.base import reruns


@pytest.fixture(autouse=True)
def whole_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest runs a page as a whole, and shows what its last run has sent: so no callback asks
    for less than that.
    """
    monkeypatch.setattr(reruns, "fragments", lambda *keys: None)
