"""The app: `streamlit run app.py` serves it, and every visitor's run begins here."""

import streamlit as st
from starlette.middleware import Middleware

from ncd.view import lost, menu, ready, serve, turns
from ncd.view.site import Site

if __name__ == "__main__":
    with turns.turn():
        page = st.navigation(lost.found(menu.pages()), position="top")
        st.set_page_config(page_title=menu.heading(page.title), layout="wide")
        page.run()
else:  # the server's import, before the first visitor comes
    serve.make_ready(__file__)
    app = st.App(__file__, lifespan=ready.lifespan, middleware=[Middleware(Site)])
