"""Yours: the diagram of what a visitor types."""

from ncd.app.page import own_page

own_page.show()
