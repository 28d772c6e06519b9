"""Lessons: views of the pages in order, each with a line to say, some with a question."""
