"""Systems that read or write images."""
