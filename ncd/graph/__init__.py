"""The autograd graph of a run, as plain data."""

from ncd.graph.autograd_dag import LEVELS as LEVELS
from ncd.graph.autograd_dag import Dag as Dag
from ncd.graph.autograd_dag import Edge as Edge
from ncd.graph.autograd_dag import Node as Node
from ncd.graph.chain_rule import Gradients as Gradients
from ncd.graph.chain_rule import backward as backward
from ncd.graph.chain_rule import scanless as scanless
from ncd.graph.finite_differences import Slope as Slope
from ncd.graph.finite_differences import slopes as slopes
from ncd.graph.graph_walk import autograd as autograd
