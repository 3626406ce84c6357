"""SHA-256 checksums, in hexadecimal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def sha256(path: Path) -> str:
    """Return the checksum of a file. Raises OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_sha256(text: str) -> str:
    """Return the checksum of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def json_sha256(content: Mapping[str, Any], without: str) -> str:
    """Return the checksum of a JSON object; `without` is its key that holds the checksum itself."""
    rest = {key: value for key, value in content.items() if key != without}
    return text_sha256(json.dumps(rest, sort_keys=True))
