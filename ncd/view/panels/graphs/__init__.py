"""Panels for networks on graphs."""
