"""The frontend's files as browsers get them: compressed where they say so, and the same."""

import gzip
from pathlib import Path

import pytest
from starlette.types import Scope

from ncd.app.host.http import compress_file, compressed_answer
from ncd.app.runtime import streamlit_internals


def asked(path: str, **headers: str) -> Scope:
    return {
        "type": "http",
        "path": path,
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
    }


def test_scripts_are_a_third_of_their_size_and_the_same() -> None:
    folder = streamlit_internals.static_folder()
    file = max((folder / "static" / "js").glob("*.js"), key=lambda file: file.stat().st_size)
    path = f"/{file.relative_to(folder)}"
    assert compressed_answer(asked(path, accept_encoding="gzip, br"))
    data = compress_file(path)
    assert gzip.decompress(data) == file.read_bytes()
    assert len(data) < file.stat().st_size / 2.5
    assert compress_file(path) is data


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/static/js/none.js", {"accept_encoding": "gzip"}),
        ("/static/../../web/cli.py", {"accept_encoding": "gzip"}),
        ("{script}", {}),
        ("{script}", {"accept_encoding": "gzip", "range": "bytes=0-9"}),
    ],
)
def test_streamlit_answers_for_all_others(path: str, headers: dict[str, str]) -> None:
    folder = streamlit_internals.static_folder()
    script: Path = next((folder / "static" / "js").glob("*.js"))
    path = path.format(script=f"/{script.relative_to(folder)}")
    assert compressed_answer(asked(path, **headers)) is None
