"""Parts of today's language models, one idea each."""
