"""Torch modules become terms: ``from_torch(module, inputs)``."""

from ncd.importing.base.import_values import ImportFailed as ImportFailed
from ncd.importing.imported import Box as Box
from ncd.importing.imported import Imported as Imported
from ncd.importing.imported import from_torch as from_torch
from ncd.importing.module_files import imported_file as imported_file
