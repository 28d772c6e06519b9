"""The base of every drawing: style, plan types, primitives, fonts and labels."""
