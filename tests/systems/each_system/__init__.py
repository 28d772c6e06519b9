"""Systems written in the language, each beside plain torch that computes the same.

``SYSTEMS`` is all of them: one test walks every one through every view.
"""

from tests.systems.each_system import (
    attention,
    gates,
    language,
    modern,
    recurrent,
    transformer,
    vision,
)
from tests.systems.each_system.system import System

SYSTEMS: tuple[System, ...] = (
    *attention.SYSTEMS,
    *transformer.SYSTEMS,
    *language.SYSTEMS,
    *modern.SYSTEMS,
    *gates.SYSTEMS,
    *recurrent.SYSTEMS,
    *vision.SYSTEMS,
)
