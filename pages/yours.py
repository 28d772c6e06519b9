"""Yours: the diagram of what a visitor types."""

from ncd.view.page import own_page

own_page.show()
