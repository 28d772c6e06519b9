"""Answers to a text that somebody pastes: its kind, the shapes of its results, its findings."""
