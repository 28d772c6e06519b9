"""The interactive diagram and its legend."""
