"""Arrays shown as numbers, pictures and statistics."""
