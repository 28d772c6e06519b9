"""The explorer as static files: every system on a live page, with search, legend and lessons."""
