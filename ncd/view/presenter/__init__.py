"""The presenter view."""
