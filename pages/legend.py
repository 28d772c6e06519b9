"""The legend: every sign of the notation."""

from ncd.app.figure.legend_page import show

show()
