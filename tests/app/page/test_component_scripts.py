"""The scripts of the app's components, each joined from several files."""

import re
from collections import Counter
from importlib import import_module
from inspect import getclosurevars
from pkgutil import walk_packages

from ncd import app

DECLARED = re.compile(r"^(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
OTHER = re.compile(r"^(?!export default |(?:async )?(?:function|(?:const|let|class) \w))\w.*", re.M)


def scripts() -> dict[str, str]:
    """The script of each component, by the component's name; Streamlit keeps it in a closure."""
    modules = [import_module(module.name) for module in walk_packages(app.__path__, "ncd.app.")]
    values = [value for module in modules for value in vars(module).values()]
    components = [x for x in values if getattr(x, "__name__", "") == "_mount_component"]
    kept = [getclosurevars(component).nonlocals for component in components]
    return {own["component_key"]: own["js"] for own in kept}


def test_no_two_files_of_a_component_define_one_name() -> None:
    """They share one scope: a name defined twice stops the component, and its panel is empty."""
    found = scripts()
    assert {"ncd_diagram", "ncd_maps", "ncd_panel", "ncd_gallery"} <= found.keys()
    names = {name: Counter(DECLARED.findall(script)) for name, script in found.items()}
    twice = {name: [word for word, n in own.items() if n > 1] for name, own in names.items()}
    assert {name: words for name, words in twice.items() if words} == {}
    assert {"connect", "zoomable", "arrange"} <= names["ncd_maps"].keys()  # of three files
    # Every other line that is not indented belongs to a declaration, so that none was overlooked.
    assert [line for script in found.values() for line in OTHER.findall(script)] == []
