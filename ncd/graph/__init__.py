"""The autograd graph of a run, as plain data."""

from ncd.graph.dag import LEVELS as LEVELS
from ncd.graph.dag import Dag as Dag
from ncd.graph.dag import Edge as Edge
from ncd.graph.dag import Node as Node
from ncd.graph.walk import autograd as autograd
