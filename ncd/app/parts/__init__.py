"""Parts of pages: maps, charts, pickers, inputs, the text editor."""
