"""Two settings of one system side by side."""
