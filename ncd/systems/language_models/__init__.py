"""Published language models, from words to scores, with the names of their published weights."""
