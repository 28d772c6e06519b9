"""Build `assets/fonts/*.ttf` from TeX Gyre Pagella and Latin Modern Sans.

The sources are the OpenType files of the Debian packages fonts-texgyre, fonts-texgyre-math and
fonts-lmodern (or of TeX Live); give the folder that holds `tex-gyre/`, `tex-gyre-math/` and `lm/`:

    python tools/assets/fonts.py /usr/share/texmf/fonts/opentype/public

Each font is cut to the characters that the diagrams use, turned from cubic to quadratic outlines
(their bounding boxes can then be read without drawing), and renamed, as the GUST Font License asks.
"""

import sys
from pathlib import Path

from fontTools.misc.timeTools import timestampSinceEpoch
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont, newTable
from fontTools.ttLib.tables._k_e_r_n import KernTable_format_0

TARGET = Path(__file__).resolve().parents[2] / "assets" / "fonts"


def chars(*ranges: tuple[int, int]) -> frozenset[int]:
    return frozenset(code for first, last in ranges for code in range(first, last + 1))


ASCII = chars((0x20, 0x7E))
GREEK = chars((0x391, 0x3A9), (0x3B1, 0x3C9), (0x3D1, 0x3D6))
LATIN = ASCII | GREEK | chars((0xA0, 0xFF))
PUNCTUATION = chars((0x2010, 0x2027), (0x2030, 0x203A), (0x20AC, 0x20AC), (0x2122, 0x2122))
MATH = chars(
    (0x2102, 0x2102), (0x2110, 0x2112), (0x2115, 0x2115), (0x211A, 0x211D), (0x2124, 0x2124),
    (0x2190, 0x2199), (0x21A6, 0x21A6), (0x21D0, 0x21D4), (0x2200, 0x2209), (0x220F, 0x221E),
    (0x2225, 0x222B), (0x2236, 0x224D), (0x2254, 0x2254), (0x225D, 0x225D), (0x2260, 0x2265),
    (0x226A, 0x226B), (0x2282, 0x2287), (0x2293, 0x22A5), (0x22C0, 0x22C6), (0x22EE, 0x22F1),
    (0x27E8, 0x27E9), (0x1D538, 0x1D551),
)  # fmt: skip
TEXT = LATIN | PUNCTUATION | chars((0x100, 0x17F), (0x2190, 0x2193), (0x2212, 0x2217))

# target -> source, family, style name, weight, characters
FACES = {
    "ncd-roman": ("tex-gyre/texgyrepagella-regular", "NCD Roman", "Regular", 400, TEXT),
    "ncd-roman-italic": ("tex-gyre/texgyrepagella-italic", "NCD Roman", "Italic", 400, LATIN),
    "ncd-roman-bold": ("tex-gyre/texgyrepagella-bold", "NCD Roman", "Bold", 700, LATIN),
    "ncd-math": ("tex-gyre-math/texgyrepagella-math", "NCD Math", "Regular", 400, MATH),
    "ncd-sans": ("lm/lmsans10-regular", "NCD Sans", "Regular", 400, TEXT),
    "ncd-sans-bold": ("lm/lmsans10-bold", "NCD Sans", "Bold", 700, TEXT),
}


def cut(source: Path, codes: frozenset[int]) -> TTFont:
    """The font with the glyphs of `codes` only, and no layout table but kerning pairs."""
    font = TTFont(source, recalcTimestamp=False)
    pairs = kerning(font)
    options = Options(layout_features=[], notdef_outline=True, name_IDs=["*"], hinting=False)
    options.drop_tables += ["GPOS", "GSUB", "GDEF", "MATH", "FFTM", "DSIG", "BASE"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)
    kept = {name for code, name in font.getBestCmap().items() if code in ASCII | PUNCTUATION}
    add_kerning(font, {pair: value for pair, value in pairs.items() if kept.issuperset(pair)})
    return font


def kerning(font: TTFont) -> dict[tuple[str, str], int]:
    """Every kerning pair of the GPOS table; the sources list them one by one (PairPos format 1)."""
    if "GPOS" not in font:
        return {}
    gpos = font["GPOS"].table
    features = [f.Feature for f in gpos.FeatureList.FeatureRecord if f.FeatureTag == "kern"]
    lookups = {index for feature in features for index in feature.LookupListIndex}
    return {
        (left, record.SecondGlyph): record.Value1.XAdvance
        for index in lookups
        for table in gpos.LookupList.Lookup[index].SubTable
        for left, pairs in zip(table.Coverage.glyphs, table.PairSet, strict=True)
        for record in pairs.PairValueRecord
        if record.Value1 is not None and getattr(record.Value1, "XAdvance", 0)
    }


def add_kerning(font: TTFont, pairs: dict[tuple[str, str], int]) -> None:
    """Store the pairs as a `kern` table; browsers, resvg and our labels read it alike."""
    if not pairs:
        return
    table = KernTable_format_0()
    table.coverage, table.tupleIndex, table.kernTable = 1, None, pairs
    font["kern"] = newTable("kern")
    font["kern"].version, font["kern"].kernTables = 0, [table]


def quadratic(font: TTFont) -> None:
    """Replace the cubic CFF outlines by quadratic ones, at most a thousandth of an em off."""
    glyphs, order = font.getGlyphSet(), font.getGlyphOrder()
    drawn = {}
    for name in order:
        pen = TTGlyphPen(None)
        glyphs[name].draw(Cu2QuPen(pen, max_err=1.0, reverse_direction=True))
        drawn[name] = pen.glyph()
    del font["CFF "]
    font["loca"], font["glyf"] = newTable("loca"), newTable("glyf")
    font["glyf"].glyphOrder, font["glyf"].glyphs = order, drawn
    for name in order:
        drawn[name].recalcBounds(font["glyf"])
        advance, _ = font["hmtx"][name]
        font["hmtx"][name] = advance, getattr(drawn[name], "xMin", 0)
    add_maxp(font)
    font["post"].formatType, font.sfntVersion = 3.0, "\0\1\0\0"


def add_maxp(font: TTFont) -> None:
    maxp = font["maxp"]
    maxp.tableVersion = 0x00010000
    for field in (
        "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs",
        "maxStackElements", "maxSizeOfInstructions", "maxComponentElements",
    ):  # fmt: skip
        setattr(maxp, field, 0)
    maxp.maxZones = 1
    maxp.recalc(font)


def rename(font: TTFont, family: str, style: str, weight: int, source: str) -> None:
    """Give the font its new name, and say in it what it was made from."""
    copyright_ = font["name"].getDebugName(0)
    postscript = f"{family}-{style}".replace(" ", "")
    font["name"].names = []
    for code, value in {
        0: f"{copyright_} Modified (subset, renamed) from {source}.otf.",
        1: family, 2: style, 3: postscript, 4: f"{family} {style}", 5: "Version 1.000",
        6: postscript, 13: "GUST Font License 1.0",
        14: "http://www.gust.org.pl/fonts/licenses/GUST-FONT-LICENSE.txt",
    }.items():  # fmt: skip
        font["name"].setName(value, code, 3, 1, 0x409)
    bits = {"Regular": 0x40, "Italic": 0x01, "Bold": 0x20}
    font["OS/2"].usWeightClass, font["OS/2"].fsSelection = weight, bits[style]
    font["OS/2"].fsType = 0  # installable: the licence allows embedding without limits
    font["head"].macStyle = {"Regular": 0, "Bold": 1, "Italic": 2}[style]
    font["head"].modified = font["head"].created = timestampSinceEpoch(0)


def main(folder: Path) -> None:
    for target, (source, family, style, weight, codes) in FACES.items():
        font = cut(folder / f"{source}.otf", codes)
        quadratic(font)
        rename(font, family, style, weight, Path(source).name)
        font.save(TARGET / f"{target}.ttf")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
