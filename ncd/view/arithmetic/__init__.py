"""The arithmetic of one number, shown step by step."""
