"""Layer norm and batch norm."""
