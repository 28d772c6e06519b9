"""App: state, scene, figure, parts, panels, pages and host; only this room knows Streamlit."""
