"""Folders that are named by a URL, as `s3://bucket/folder`."""

from __future__ import annotations

import os
import re


def is_url(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is named by a URL."""
    return re.match(r"[a-z][a-z0-9+.-]*://", str(folder)) is not None
