"""Drawing: a term as a drawing, as data, then as SVG, PDF, PNG or TikZ."""
