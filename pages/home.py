"""The first page: all systems."""

from ncd.view.home import show

show()
