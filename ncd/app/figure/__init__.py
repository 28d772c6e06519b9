"""The figure: the interactive diagram, its cards and its legend."""
