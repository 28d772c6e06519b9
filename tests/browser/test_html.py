"""The HTML file in a browser without a network, opened from the disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import ncd
from tests.pages.test_pages import ENTRIES if False else None
