"""Scripts for developers; none of them is installed."""
