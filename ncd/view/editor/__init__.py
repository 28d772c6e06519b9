"""The text editor of the page Yours: CodeMirror 6, completions, and error messages."""
