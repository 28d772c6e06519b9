"""The runtime: threads, scheduling, memory, and everything private to Streamlit."""
