"""Amounts as texts: three significant digits, a prefix and a unit."""

from __future__ import annotations

from ncd.formulas.traced_sizes import is_symbolic

SUPERSCRIPT_DIGITS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
NEARLY = 0.9995  # of a prefix: it would be written as 1000 of the one below


def amount(number: float, unit: str = "") -> str:
    """Returns a number with three significant digits and a prefix.

    >>> amount(1490000, "FLOP"), amount(32, "B"), amount(0.00042, "s"), amount(0, "s")
    ('1.49 MFLOP', '32 B', '420 µs', '0 s')
    >>> amount(1.0975e16, "FLOP"), amount(999_700_000_000, "B")
    ('11 PFLOP', '1 TB')
    """
    if is_symbolic(number):
        return number.placeholder(f"~{unit}", amount(number.value, unit))
    if number == 0:
        return f"0 {unit}".strip()
    if unit == "s" and number < 1:
        return f"{digits(number * 1e3)} ms" if number >= 1e-3 else f"{digits(number * 1e6)} µs"
    for factor, prefix in PREFIXES:
        if number >= NEARLY * factor:
            return f"{digits(max(1.0, number / factor))} {prefix}{unit}"
    return f"{digits(number)} {unit}".strip()


def flops(number: float) -> str:
    """Returns an amount of floating-point operations; where there are none, it says what counts.

    >>> flops(2048), flops(0)
    ('2.05 kFLOP', '0 FLOP, as only products count')
    """
    said = amount(number, "FLOP")
    return f"{said}, as only products count" if said == "0 FLOP" else said


def digits(number: float) -> str:
    """Returns a number with three significant digits, or all digits before the point.

    >>> digits(-0.25), digits(999.7), digits(12345.6), digits(1.19e-7)
    ('−0.25', '1000', '12346', '1.19 × 10⁻⁷')
    """
    text = f"{number:.0f}" if 999.5 <= abs(number) < 1e6 else f"{number:.3g}"
    base, power, above = text.partition("e")
    if power:
        base += f" × 10{str(int(above)).translate(SUPERSCRIPT_DIGITS)}"
    return base.replace("-", "−")
