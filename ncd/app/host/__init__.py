"""The host: start, network rules, health, and endpoints beside the pages."""
