"""The app: `streamlit run app.py` serves it, and every visitor's run begins here."""

import streamlit as st
from starlette.middleware import Middleware

from ncd.app.host import health, serve
from ncd.app.host.http import ServerMiddleware
from ncd.app.page import navigation
from ncd.app.page.navigation import with_not_found
from ncd.app.runtime import scheduler

if __name__ == "__main__":
    with scheduler.turn():
        page = st.navigation(with_not_found(navigation.pages()), position="top")
        st.set_page_config(page_title=navigation.heading(page.title), layout="wide")
        page.run()
else:  # the server's import, before the first visitor comes
    serve.prepare_process(__file__)
    app = st.App(__file__, lifespan=health.lifespan, middleware=[Middleware(ServerMiddleware)])
