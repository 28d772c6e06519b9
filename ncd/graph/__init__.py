"""The autograd graph of a run, as plain data."""

from ncd.graph.chain import Gradients as Gradients
from ncd.graph.chain import backward as backward
from ncd.graph.chain import scanless as scanless
from ncd.graph.dag import LEVELS as LEVELS
from ncd.graph.dag import Dag as Dag
from ncd.graph.dag import Edge as Edge
from ncd.graph.dag import Node as Node
from ncd.graph.differences import Slope as Slope
from ncd.graph.differences import slopes as slopes
from ncd.graph.walk import autograd as autograd
