"""Site: the explorer as files, such as pages, the static site, and the widget for notebooks."""
