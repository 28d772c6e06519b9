"""Answers: sentences about a text that somebody pastes, with its shapes and its findings."""
