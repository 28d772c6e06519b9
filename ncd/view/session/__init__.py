"""The session: one run of a page, its state, and the URL that holds it."""
