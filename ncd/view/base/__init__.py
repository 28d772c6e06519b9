"""The base of the view: HTML panels, cache, knobs and selection."""
