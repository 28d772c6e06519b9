"""Run: a term as a torch module, with guard, formats, devices, and every value on request."""
