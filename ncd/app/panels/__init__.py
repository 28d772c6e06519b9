"""The panels below the diagram."""
