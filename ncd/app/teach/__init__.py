"""Teaching: quiz, questions, and the presenter view."""
