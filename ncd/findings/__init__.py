"""Findings about a PyTorch source: failures, silent faults and sizes, with edits as their cures."""

from ncd.findings.finding import Cure as Cure
from ncd.findings.finding import Edit as Edit
from ncd.findings.finding import Finding as Finding
