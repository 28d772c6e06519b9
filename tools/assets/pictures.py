"""Draw the sample pictures of `assets/pictures`: six scenes in colours, and the ten digits.

    python tools/assets/pictures.py

The scenes are flat shapes with large parts, so that they can be told at 16 × 16 pixels too. The
digits are strokes of a pen, one digit a line, as `ncd/systems/inputs/picture_inputs.py` reads them.
"""

from math import cos, pi, sin
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

from ncd.systems.inputs.picture_inputs import Points, as_text

TARGET = Path(__file__).resolve().parents[2] / "assets" / "pictures"
SIDE, FINE = 96, 8  # pixels of a picture, and so many times finer it is drawn


class Scene:
    """A picture with places from 0 to 1."""

    def __init__(self, above: str, below: str) -> None:
        ends = Image.new("RGB", (1, 2))
        ends.putdata([_rgb(above), _rgb(below)])
        self.image = ends.resize((SIDE * FINE, SIDE * FINE), Image.Resampling.BILINEAR)
        self.paint = ImageDraw.Draw(self.image)

    def area(self, colour: str, *points: tuple[float, float]) -> None:
        self.paint.polygon([(x * SIDE * FINE, y * SIDE * FINE) for x, y in points], colour)

    def disc(self, colour: str, x: float, y: float, rx: float, ry: float | None = None) -> None:
        ry = rx if ry is None else ry
        box = (x - rx, y - ry, x + rx, y + ry)
        self.paint.ellipse([at * SIDE * FINE for at in box], colour)

    def line(self, colour: str, width: float, *points: tuple[float, float]) -> None:
        places = [(x * SIDE * FINE, y * SIDE * FINE) for x, y in points]
        self.paint.line(places, colour, round(width * SIDE * FINE), "curve")

    def save(self, name: str) -> None:
        soft = self.image.filter(ImageFilter.GaussianBlur(FINE / 3))
        soft.resize((SIDE, SIDE), Image.Resampling.BOX).save(TARGET / f"{name}.png", optimize=True)


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def boat() -> None:
    scene = Scene("#3f8fd6", "#bfe3f7")
    scene.disc("#ffd84a", 0.82, 0.17, 0.11)
    scene.area("#1d5c8f", (0, 0.68), (1, 0.68), (1, 1), (0, 1))
    for y, shade in ((0.8, "#2a6fa5"), (0.92, "#174f7d")):
        for x in (0.0, 0.34, 0.68, 1.02):
            scene.disc(shade, x, y, 0.14, 0.025)
    scene.area("#8b2f1f", (0.16, 0.64), (0.84, 0.64), (0.72, 0.8), (0.28, 0.8))
    scene.line("#4a2a18", 0.025, (0.48, 0.12), (0.48, 0.66))
    scene.area("#fbfbf5", (0.45, 0.14), (0.45, 0.6), (0.16, 0.6))
    scene.area("#f2a23a", (0.51, 0.2), (0.51, 0.6), (0.76, 0.6))
    scene.save("boat")


def balloons() -> None:
    scene = Scene("#d9eefb", "#f6fbff")
    scene.area("#7fb069", (0, 0.9), (1, 0.86), (1, 1), (0, 1))
    own = (
        ("#d7263d", 0.26, 0.32),
        ("#2a9d8f", 0.74, 0.26),
        ("#f4b400", 0.5, 0.5),
        ("#d7263d", 0.8, 0.62),
        ("#3a5fcd", 0.2, 0.68),
    )
    for _, x, y in own:
        scene.line("#5b5b66", 0.012, (x, y + 0.15), (0.5 + (x - 0.5) / 3, 0.93))
    for colour, x, y in own:
        scene.disc(colour, x, y, 0.13, 0.16)
        scene.disc("#ffffff", x - 0.045, y - 0.06, 0.025, 0.035)
    scene.save("balloons")


def cat() -> None:
    scene = Scene("#f3d9b1", "#e8b98a")
    fur, dark = "#4f5361", "#2d2f38"
    for side in (-1, 1):
        ear = ((0.5 + side * 0.36, 0.1), (0.5 + side * 0.36, 0.5), (0.5 + side * 0.08, 0.28))
        scene.area(fur, *ear)
        pink = ((0.5 + side * 0.31, 0.2), (0.5 + side * 0.31, 0.38), (0.5 + side * 0.16, 0.29))
        scene.area("#e39aa4", *pink)
    scene.disc(fur, 0.5, 0.56, 0.37, 0.34)
    for side in (-1, 1):
        scene.disc("#b7e05a", 0.5 + side * 0.16, 0.5, 0.09, 0.08)
        scene.disc(dark, 0.5 + side * 0.16, 0.5, 0.03, 0.075)
        for lift in (-0.05, 0.03):
            ends = (0.5 + side * 0.12, 0.69), (0.5 + side * 0.47, 0.69 + lift)
            scene.line("#f4f4f6", 0.014, *ends)
    scene.disc("#f4f4f6", 0.5, 0.71, 0.13, 0.1)
    scene.area("#d9576b", (0.45, 0.64), (0.55, 0.64), (0.5, 0.7))
    scene.line(dark, 0.018, (0.5, 0.69), (0.5, 0.75))
    scene.line(dark, 0.018, (0.44, 0.755), (0.5, 0.75), (0.56, 0.755))
    scene.save("cat")


def house() -> None:
    scene = Scene("#fbe3b5", "#f6b98a")
    scene.area("#5f8f4e", (0, 0.8), (1, 0.74), (1, 1), (0, 1))
    scene.area("#6b4a3a", (0.64, 0.16), (0.74, 0.16), (0.74, 0.4), (0.64, 0.4))
    scene.area("#e9e4da", (0.2, 0.44), (0.8, 0.44), (0.8, 0.86), (0.2, 0.86))
    scene.area("#b5382f", (0.1, 0.47), (0.5, 0.14), (0.9, 0.47))
    scene.area("#3b5d8a", (0.28, 0.54), (0.46, 0.54), (0.46, 0.7), (0.28, 0.7))
    scene.line("#f7f4ee", 0.02, (0.37, 0.54), (0.37, 0.7))
    scene.area("#7a4a26", (0.56, 0.58), (0.72, 0.58), (0.72, 0.86), (0.56, 0.86))
    scene.disc("#f4c542", 0.69, 0.73, 0.016)
    scene.save("house")


def fish() -> None:
    scene = Scene("#0f6f8c", "#083d5c")
    scene.area("#d9b382", (0, 0.9), (1, 0.84), (1, 1), (0, 1))
    for x, lift in ((0.12, 0.42), (0.2, 0.52), (0.9, 0.46)):
        scene.line("#3d9a5f", 0.03, (x, 0.95), (x + 0.04, (lift + 0.95) / 2), (x - 0.01, lift))
    scene.area("#f2672e", (0.66, 0.5), (0.9, 0.3), (0.9, 0.68))
    scene.area("#d94f1e", (0.4, 0.4), (0.56, 0.2), (0.64, 0.42))
    scene.disc("#ff8a3c", 0.46, 0.5, 0.28, 0.18)
    scene.line("#fdf6ec", 0.05, (0.5, 0.34), (0.54, 0.5), (0.5, 0.66))
    scene.disc("#fdf6ec", 0.29, 0.45, 0.045)
    scene.disc("#1b1b22", 0.28, 0.45, 0.022)
    for x, y, r in ((0.12, 0.3, 0.025), (0.17, 0.18, 0.035), (0.1, 0.1, 0.02)):
        scene.disc("#bfe9f2", x, y, r)
    scene.save("fish")


def night() -> None:
    scene = Scene("#141a3c", "#3f3a78")
    for x, y in ((0.14, 0.16), (0.32, 0.34), (0.5, 0.1), (0.86, 0.52), (0.1, 0.5), (0.62, 0.48)):
        scene.disc("#fdf3c4", x, y, 0.014)
    scene.disc("#f6e27a", 0.72, 0.26, 0.17)
    scene.disc("#161c40", 0.65, 0.21, 0.15)
    scene.area("#2c5c4a", (0, 0.82), (0.36, 0.7), (0.7, 0.84), (1, 0.72), (1, 1), (0, 1))
    scene.area("#1c4034", (0.16, 0.86), (0.29, 0.42), (0.42, 0.86))
    scene.area("#1c4034", (0.74, 0.88), (0.82, 0.6), (0.9, 0.88))
    scene.save("night")


# --- the digits -----------------------------------------------------------------------------------


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> Points:
    """Part of an ellipse; angles in turns, from the right and then down."""
    count = max(4, round(abs(end - start) * 20))
    turns = [2 * pi * (start + (end - start) * i / count) for i in range(count + 1)]
    return [(x + rx * cos(turn), y + ry * sin(turn)) for turn in turns]


DIGITS: tuple[list[Points], ...] = (
    [arc(0.5, 0.5, 0.22, 0.36, -0.25, 0.75)],
    [[(0.42, 0.24), (0.52, 0.13), (0.5, 0.87)]],
    [[*arc(0.49, 0.32, 0.21, 0.19, -0.5, 0.08), (0.28, 0.86), (0.74, 0.86)]],
    [[*arc(0.47, 0.3, 0.2, 0.17, -0.45, 0.25), *arc(0.47, 0.67, 0.23, 0.2, -0.25, 0.45)]],
    [[(0.48, 0.13), (0.25, 0.58), (0.77, 0.58)], [(0.62, 0.36), (0.62, 0.88)]],
    [[(0.7, 0.14), (0.34, 0.14), (0.31, 0.45), *arc(0.47, 0.63, 0.24, 0.23, -0.33, 0.42)]],
    [[(0.62, 0.12), (0.42, 0.3), *arc(0.49, 0.66, 0.21, 0.21, -0.5, 0.5)]],
    [[(0.26, 0.15), (0.74, 0.15), (0.44, 0.87)]],
    [[*arc(0.5, 0.31, 0.18, 0.18, 0.25, -0.75), *arc(0.5, 0.69, 0.21, 0.2, -0.25, 0.75)]],
    [[*arc(0.5, 0.35, 0.2, 0.21, 0.0, -1.0), (0.69, 0.45), (0.6, 0.87)]],
)


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    for make in (boat, balloons, cat, house, fish, night):
        make()
    lines = [as_text(strokes) + "\n" for strokes in DIGITS]
    (TARGET / "digits.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
