"""A sum or a product of two numbers, or one number, calculated in a floating-point format."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ncd.errors import ParseError, short_repr
from ncd.formulas.prefixed_amounts import SUPERSCRIPT_DIGITS
from ncd.run.float_formats import FloatFormat

_NUMBER = r"-?[0-9]{1,12}(?:\.[0-9]{1,12})?(?:e-?[0-9]{1,2})?"
PATTERN = rf"{_NUMBER}(?: ?[+*] ?{_NUMBER})?"
_PARTS = re.compile(rf"({_NUMBER})(?: ?([+*]) ?({_NUMBER}))?")


@dataclass(frozen=True)
class Calculation:
    """A number, or two with a sign between them.

    Args:
        text: As it is written.
        left_number: The first number.
        sign: ``+``, ``*`` or nothing.
        right_number: The second number, if there is one.

    >>> from ncd.run.float_formats import FORMATS
    >>> asked: Calculation = read_calculation("2048 + 1")
    >>> asked.exact, asked.result_in(FORMATS["float16"])
    (2049.0, 2048.0)
    """

    text: str
    left_number: float
    sign: str = ""
    right_number: float = 0.0

    @property
    def exact(self) -> float:
        """The result in float64."""
        return self._apply(self.left_number, self.right_number)

    def result_in(self, format: FloatFormat) -> float:
        """Returns the result in a format: both numbers are rounded, and then what they give."""
        left, right = format.round_number(self.left_number), format.round_number(self.right_number)
        return format.round_number(self._apply(left, right))

    def _apply(self, left: float, right: float) -> float:
        if not self.sign:
            return left
        return left + right if self.sign == "+" else left * right


def read_calculation(text: str) -> Calculation:
    """Returns the calculation that a text states.

    Raises:
        ParseError: For text of another form.

    >>> read_calculation("1e-8*65536").right_number
    65536.0
    """
    found = _PARTS.fullmatch(text)
    if found is None:
        raise ParseError(f"{short_repr(text)} is no calculation", cure="2048 + 1")
    left, sign, right = found.groups()
    return Calculation(text, float(left), sign or "", float(right or 0))


# --- How they are written


def calculation_text(text: str) -> str:
    """Returns a calculation with the signs of mathematics.

    >>> calculation_text("1e-08 * 65536"), calculation_text("-1e38")
    ('10⁻⁸ × 65536', '−10³⁸')
    """
    words = []
    for word in text.replace("*", " × ").replace("+", " + ").split():
        base, power, above = word.partition("e")
        if power:
            base = base.removesuffix("1") if base in ("1", "-1") else f"{base} × "
            word = f"{base}10{str(int(above)).translate(SUPERSCRIPT_DIGITS)}"
        words.append(word.replace("-", "−"))
    return " ".join(words)


def number_text(number: float) -> str:
    """Returns a number with nine significant digits, as float32 has.

    >>> number_text(0.0999755859375), number_text(-float("inf")), number_text(1e38)
    ('0.0999755859', '−∞', '10³⁸')
    """
    if number != number:
        return "no number"
    return calculation_text(f"{number:.9g}".replace("inf", "∞").replace("e+", "e"))
