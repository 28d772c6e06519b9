"""The published figures as terms, drawn and held against what the pictures show."""
