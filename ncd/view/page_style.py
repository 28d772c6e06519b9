"""What the whole page needs once: the fonts of the drawings, and a few rules."""

from __future__ import annotations

import json

import streamlit as st

from ncd.drawing.fonts import all_faces_css
from ncd.view import menu

RULES = """
.stMainBlockContainer { padding: 1.2rem 2.5rem 4rem; max-width: 1500px; }
.stMainBlockContainer .stVerticalBlock { gap: 0.7rem; }
.stApp:has([data-testid="stExpandSidebarButton"]) .stMainBlockContainer { padding-top: 3.9rem; }
.stMainBlockContainer h1 { padding: 0; font-size: 1.9rem; }
.stMainBlockContainer > .stVerticalBlock > .stElementContainer h1 { padding-bottom: 0.6rem; }
.stMainBlockContainer h2 { padding: 1rem 0 0.4rem; font-size: 1.4rem; }
.stSidebar .stVerticalBlock { gap: 0.6rem; }
.stSidebar .stSlider { margin-bottom: -0.55rem; }
.stSidebar .stHorizontalBlock { gap: 0.6rem; }
.stSidebar h3 { padding: 0.3rem 0 0.5rem; font-size: 1.05rem; }
.stSidebar [data-testid="stCaptionContainer"] { color: inherit; opacity: 0.85; }
.stSidebar .stTextInput [data-testid="InputInstructions"] { display: none; }
.stSidebar .stTextArea [data-testid="InputInstructions"] { top: -1.6rem; bottom: auto; right: 0; }
[data-testid="stSidebarHeader"] { height: 2.8rem; margin-bottom: 0; }
[data-testid="stSidebarUserContent"] { padding-top: 0.4rem; }
[data-testid="stSidebarNavSeparator"] { margin-top: 0.4rem; }
.stSlider label > span { overflow: hidden; min-width: 0; flex: 1; }
.stSlider label > div { flex: none; }
.stSlider label p { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.st-key-panels [role="tabpanel"] { min-height: 560px; padding-top: 0.4rem; }
[class*="st-key-told-"] { position: absolute; }
.st-key-refusal { border-left: 4px solid #c3002f; }
@media (max-width: 640px) { .stMainBlockContainer { padding: 3.8rem 1rem 3rem; } }
"""

# Inside a shadow root @font-face does nothing; in the document it serves every shadow root.
# A link to a page opens it as the menu does: the browser would load the whole app again.
FONTS_JS = """
export default function ({ data }) {
  const description = document.querySelector("meta[name=description]");
  if (description) description.content = data;
  if (document.getElementById("ncd-fonts")) return;
  const style = document.createElement("style");
  style.id = "ncd-fonts";
  style.textContent = CSS_TEXT;
  document.head.append(style);
  document.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.composedPath().find((element) => element.matches?.("a[href]"));
    const menu = [...document.querySelectorAll("[data-testid=stSidebarNavLink]")];
    const same = link && menu.find((own) => own.pathname === link.pathname);
    if (!same || menu.includes(link) || link.search || link.origin !== origin) return;
    event.preventDefault();
    same.click();
  });
}
""".replace("CSS_TEXT", json.dumps(all_faces_css()))

_fonts = st.components.v2.component("ncd_fonts", js=FONTS_JS)


def show(lead: str) -> None:
    """Registers fonts and rules, and what the page says first, as its description.

    The message is the same at every run, so it is sent once.
    """
    st.html(f"<style>{RULES}</style>")
    _fonts(key="fonts", data=menu.plain(lead))
