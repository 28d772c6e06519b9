"""The first page: all systems."""

from ncd.app.page.gallery import show

show()
