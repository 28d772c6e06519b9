"""The legend: every sign of the notation."""

from ncd.view.diagram.legend import show

show()
