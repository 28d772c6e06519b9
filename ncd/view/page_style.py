"""What the whole page needs once: the fonts of the drawings, and a few rules."""

from __future__ import annotations

import json

import streamlit as st

from ncd.drawing.fonts import all_faces_css

RULES = """
.stMainBlockContainer { padding: 2.6rem 2.5rem 4rem; max-width: 1500px; }
.stMainBlockContainer > .stVerticalBlock { gap: 0.7rem; }
.stMainBlockContainer h1 { padding: 0; font-size: 1.9rem; }
.stSidebar .stVerticalBlock { gap: 0.75rem; }
.stSidebar h3 { padding: 0.3rem 0 1rem; font-size: 1.05rem; }
.stSlider label > span { overflow: hidden; min-width: 0; flex: 1; }
.stSlider label > div { flex: none; }
.stSlider label p { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.st-key-panels [role="tabpanel"] { min-height: 560px; }
.st-key-refusal { border-left: 4px solid #c3002f; }
@media (max-width: 640px) { .stMainBlockContainer { padding: 3.8rem 1rem 3rem; } }
"""

# Inside a shadow root @font-face does nothing; in the document it serves every shadow root.
FONTS_JS = """
export default function () {
  if (document.getElementById("ncd-fonts")) return;
  const style = document.createElement("style");
  style.id = "ncd-fonts";
  style.textContent = CSS_TEXT;
  document.head.append(style);
}
""".replace("CSS_TEXT", json.dumps(all_faces_css()))

_fonts = st.components.v2.component("ncd_fonts", js=FONTS_JS)


def show() -> None:
    """Registers fonts and rules. The message is the same at every run, so it is sent once."""
    st.html(f"<style>{RULES}</style>")
    _fonts(key="fonts")
