"""The state of a session: cache, controls, knobs, selection."""
