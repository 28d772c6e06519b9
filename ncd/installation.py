"""Files beside the package, and the extra that installs each optional library.

In a checkout they are around the package; in an installation they are in its folder ``bundle``, as
``pyproject.toml`` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

# --- Paths of files beside the package: the app, its pages, the fonts, the pictures

_PACKAGE = Path(__file__).resolve().parent
_BUNDLE = _PACKAGE / "bundle"
ROOT = _BUNDLE if _BUNDLE.is_dir() else _PACKAGE.parent


def package_path(*parts: str) -> Path:
    """Returns the path of a file or folder that belongs to the package.

    >>> package_path("assets", "fonts").is_dir(), package_path("app.py").is_file()
    (True, True)
    """
    return ROOT.joinpath(*parts)


# --- Optional libraries: the extra of the package that installs each, and the error that names it

PACKAGE = "neural-circuit-explorer"
# The extra of each library that is not installed with the package itself, by its import name.
EXTRAS: Mapping[str, str] = {
    "torch": "run",
    "einops": "run",
    "graphviz": "run",
    "sympy": "run",
    "safetensors": "train",
    "sklearn": "train",
    "click": "app",
    "plotly": "app",
    "prometheus_client": "app",
    "segno": "app",
    "starlette": "app",
    "streamlit": "app",
    "uvicorn": "app",
    "IPython": "notebook",
    "anywidget": "notebook",
    "traitlets": "notebook",
    "onnx": "onnx",
}
# The extra with everything that a command needs, where that is more than `run`.
COMMANDS: Mapping[str, str] = {
    "open": "app",
    "serve": "app",
    "crowd": "app",
    "train": "train",
    "site": "onnx,train",
}


class MissingExtra(ImportError):
    """An optional library that is not installed; the message names the extra that installs it."""


@contextmanager
def needed_by(what: str, extra: str = "") -> Iterator[None]:
    """Names the extra to install where an import inside fails: this one, or that of the library.

    >>> with needed_by("ncd.ask"):
    ...     raise ModuleNotFoundError("no torch", name="torch")
    Traceback (most recent call last):
    ...
    ncd.installation.MissingExtra: ncd.ask needs torch: pip install 'neural-circuit-explorer[run]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRAS:
            raise
        cure = f"pip install '{PACKAGE}[{extra or EXTRAS[library]}]'"
        raise MissingExtra(f"{what} needs {library}: {cure}", name=error.name) from None
