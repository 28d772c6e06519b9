"""The app: `streamlit run app.py` serves it, and every visitor's run begins here."""

import streamlit as st
from starlette.middleware import Middleware

from ncd.view.page import navigation, not_found
from ncd.view.runtime import scheduler
from ncd.view.server import health, serve
from ncd.view.server.http import Site

if __name__ == "__main__":
    with scheduler.turn():
        page = st.navigation(not_found.with_not_found(navigation.pages()), position="top")
        st.set_page_config(page_title=navigation.heading(page.title), layout="wide")
        page.run()
else:  # the server's import, before the first visitor comes
    serve.make_ready(__file__)
    app = st.App(__file__, lifespan=health.lifespan, middleware=[Middleware(Site)])
