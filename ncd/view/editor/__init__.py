"""The text editor of the page Yours: CodeMirror 6, its completions, and what it tells of a text."""
