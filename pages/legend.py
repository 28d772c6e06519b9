"""The legend: every sign of the notation."""

from ncd.view.legend import show

show()
