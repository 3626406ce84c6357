"""Folders that are named by a URL, as `s3://bucket/folder`."""

from __future__ import annotations

import os
import re

from logicgen.errors import LogicgenError


def is_url(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is named by a URL.

    Raises LogicgenError for what a URL becomes as a `Path`, which makes one slash of two.
    """
    text = os.fspath(folder)
    if re.match(r"[a-z0-9]{2,}:/[^/]", text, re.IGNORECASE):
        raise LogicgenError(f"{text}: has one slash where a URL has two; give it as text")
    return re.match(r"[a-z][a-z0-9+.:-]*://", text, re.IGNORECASE) is not None
