"""Backends: a drawing as SVG, PNG, PDF or TikZ."""
