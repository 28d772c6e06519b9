"""The first page: all systems."""

from ncd.view.page.gallery import show

show()
