"""What is usual: sizes, inputs and layers that a source takes from elsewhere or does not give."""
