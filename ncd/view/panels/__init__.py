"""The panels below the diagram, one file each."""
