"""Export: a term as one file that opens anywhere, and what the app's pages have in common with it.

The HTML of arrays, source and cards is written here; the styles and the light that joins all views
stand beside it.
"""

from ncd.export.document import html

__all__ = ["html"]
