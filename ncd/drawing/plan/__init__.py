"""The plan of a drawing: columns and rows, before anything has coordinates."""
