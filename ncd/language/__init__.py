"""Language: axes, arrays, types and terms, and the errors of their construction."""
