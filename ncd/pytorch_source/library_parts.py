"""Parts of libraries for courses, training and settings, on which models are often built.

They are written here as sources, which are interpreted like that of a visitor. Whatever else such
a library has is unknown.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from torch import nn

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import (
    SETTINGS,
    ClassValue,
    Function,
    Native,
    Scope,
)
from ncd.pytorch_source.class_values import forward_of
from ncd.pytorch_source.listed.layer_building import deep_copy
from ncd.pytorch_source.usual.activations import PARALLEL
from ncd.pytorch_source.usual.vision_heads import HEADS
from ncd.pytorch_source.usual.vision_layers import VISION
from ncd.pytorch_source.usual.vision_models import MODELS

COURSE = """
class Module(nn.Module):
    def __init__(self, *args, **named):
        super().__init__()
    def save_hyperparameters(self, *args, **named):
        settings = settings_of(self)
        for name in settings:
            setattr(self, name, settings[name])
    def forward(self, X):
        return self.net(X)
    def apply_init(self, inputs, init=None):
        return None
    def layer_summary(self, X_shape):
        return self(torch.zeros(X_shape))

class Classifier(Module):
    pass

def add_to_class(owner):
    return lambda method: add(owner, method)

randn, rand, zeros, ones, arange = torch.randn, torch.rand, torch.zeros, torch.ones, torch.arange
"""
TRAINING = """
class Settings:
    def __init__(self, **named):
        for name in named:
            setattr(self, name, named[name])

class LightningModule(nn.Module):
    def __init__(self, *args, **named):
        super().__init__()
    def save_hyperparameters(self, *args, **named):
        self.hparams = Settings(**settings_of(self))
    def log(self, *args, **named):
        return None
"""
ARGUMENTS = """
class Namespace:
    def __init__(self, **named):
        for name in named:
            setattr(self, name, named[name])

class ArgumentParser:
    def __init__(self, *args, **named):
        self.kept = Namespace()
    def add_argument(self, *names, **named):
        given = named.get("default")
        if named.get("action") == "store_true":
            given = given or False
        if named.get("action") == "store_false":
            given = True
        if isinstance(given, str) and named.get("type") is not None:
            given = named["type"](given)
        long = [name for name in names if name.startswith("--")]
        name = named.get("dest") or (long or names)[0].lstrip("-").replace("-", "_")
        setattr(self.kept, name, given)
    def add_argument_group(self, *args, **named):
        return self
    def set_defaults(self, **named):
        for name in named:
            setattr(self.kept, name, named[name])
    def parse_args(self, *args):
        return self.kept
    def parse_known_args(self, *args):
        return self.kept, []
"""
SETTINGS_OBJECT = """
class SimpleNamespace:
    def __init__(self, **named):
        for name in named:
            setattr(self, name, named[name])
"""
FILES = re.compile(r"\.+(\w+\.)*(layers?|_builder|_registry|_manipulate|_features)(\.\w+)*")
OURS = ("layer_summary", "apply_init")
COPIES = """
def subsequent_mask(length):
    return torch.tril(torch.ones(length, length)).bool().unsqueeze(-1)

def clone_module_list(module, n):
    return nn.ModuleList([deepcopy(module) for _ in range(n)])
"""
GRAPHS = """
class Linear(nn.Linear):
    def __init__(self, in_channels, out_channels, bias=True, **named):
        super().__init__(in_channels, out_channels, bias=bias)
"""
VERSIONS = """
class version:
    @staticmethod
    def parse(text):
        return [int(part) for part in text.split("+")[0].split(".")[:2]]

parse = Version = version.parse
"""
SOURCES = {
    "d2l": COURSE,
    "pytorch_lightning": TRAINING,
    "lightning": TRAINING,
    "argparse": ARGUMENTS,
    "packaging": VERSIONS,
    "timm": VISION + HEADS,
    "torchvision": MODELS,
    "fairscale": PARALLEL,
    "megatron": PARALLEL,
    "types": SETTINGS_OBJECT,
    "labml_nn": COPIES,
    "torch_geometric": GRAPHS,
}


def _settings_of(machine: Machine, subject: Any) -> dict[str, Any]:
    """Returns the arguments with which an object of a source is made."""
    given = subject.__dict__.get(SETTINGS, {}) if isinstance(subject, nn.Module) else {}
    return {name: value for name, value in given.items() if value is not subject}


def _add(machine: Machine, owner: Any, method: Any) -> Any:
    """Makes a function a method of a class, unless it only shows or begins something."""
    if not isinstance(owner, ClassValue) or not isinstance(method, Function):
        raise TypeError("add_to_class stands before a function")
    if method.name in OURS:
        return method
    owner.names[method.name], method.owner = method, owner
    if method.name == "forward" and owner.is_module:
        owner.real.forward = forward_of(machine, method)  # type: ignore[attr-defined]
    return method


def parts_of(machine: Machine, library: str) -> dict[str, Any]:
    """Returns the parts of a library by name; none of one that is not on the list.

    A file of layers that stands beside the source is one of timm's, or like it.
    """
    library = "timm" if FILES.fullmatch(library) else library
    if library not in SOURCES:
        return {}
    if library not in machine.parts:
        machine.parts[library] = _read(machine, SOURCES[library])
    return machine.parts[library]


def _read(machine: Machine, source: str) -> dict[str, Any]:
    """Interprets the source of such parts, without counting steps."""
    tree = ast.parse(source)
    for node in ast.walk(tree):  # an error in one is told at the line that imports it
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = getattr(machine.node, "lineno", 1)
            node.col_offset = node.end_col_offset = 0
    inner = {
        **machine.shared,
        "settings_of": Native("settings_of", _settings_of),
        "add": Native("add", _add),
        "deepcopy": Native("deepcopy", deep_copy),
    }
    scope, steps = Scope(names=dict(inner)), machine.steps
    machine.run(tree.body, scope)
    machine.steps = steps
    return {name: value for name, value in scope.names.items() if value is not inner.get(name)}
