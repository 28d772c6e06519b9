"""The functions of torch that have ops of the language."""
