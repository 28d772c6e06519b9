"""The pages: the only part that knows Streamlit."""
