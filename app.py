"""The app: navigation over the pages."""

import streamlit as st

from ncd.view import menu

st.set_page_config(page_title=menu.TITLE, layout="wide")
st.navigation(menu.pages()).run()
