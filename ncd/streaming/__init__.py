"""Fused loops over tiles: what an algorithm moves between slow and fast memory."""

from ncd.streaming.plan import Stream, stream

__all__ = ["Stream", "stream"]
