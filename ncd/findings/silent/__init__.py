"""Silent faults: what runs, and is hardly what was meant."""
