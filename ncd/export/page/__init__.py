"""The HTML file of a term and that of several views, with the parts of their pages."""
