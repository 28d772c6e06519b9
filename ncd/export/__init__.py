"""Export: a term as one HTML file, and the HTML that the app's pages share with it."""

from ncd.export.page.document import html

__all__ = ["html"]
