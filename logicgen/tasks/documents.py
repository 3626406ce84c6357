"""Documents of a text corpus, read in blocks: any files, or texts that Python carries."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from logicgen.errors import LogicgenError, reading, shown

BLOCK = 1 << 22  # bytes of a file that are read, and given to a split, together
TEXT_BLOCK = 1 << 12  # the same, for texts that are not files: there are few, and some are long

# Folders of the standard library that hold no library: tests are large, partly not UTF-8, and
# differ from one installation to another.
_NO_LIBRARY = {"test", "tests", "site-packages", "dist-packages", "__pycache__", "idle_test"}


@dataclass(frozen=True)
class Block:
    """Bytes `start` to `stop` of a document."""

    document: str  # its path, or its name
    start: int
    stop: int


class Documents:
    """The documents of a corpus by name, in order, with access to their texts."""

    def __init__(self, files: dict[Path, str], texts: dict[str, bytes], called: str) -> None:
        """Take files with their names below the folders given, and texts by name.

        called: what they are, for the error message where there is no text.
        """
        self._texts = texts
        # In bytes
        self.sizes = {str(path): path.stat().st_size for path in files}
        self.sizes |= {name: len(text) for name, text in texts.items()}
        # Names that are the same wherever files lie.
        self.keys = {str(path): key for path, key in files.items()}
        self.keys |= {name: name for name in texts}
        if not sum(self.sizes.values()):
            raise LogicgenError(
                f"{called}: the corpus is empty: {len(self.sizes)} files of 0 bytes; give files"
                " with text"
            )

    def read(self, block: Block) -> str:
        """Return a block's text; raise LogicgenError with file, and byte where it is not UTF-8."""
        where = Path(block.document)
        if block.document in self._texts:
            data = self._texts[block.document][block.start : block.stop]
        else:
            with reading(where), open(where, "rb") as file:
                file.seek(block.start)
                data = file.read(block.stop - block.start)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise LogicgenError(
                f"{where}: not UTF-8 at byte {block.start + error.start}"
                f" (0x{data[error.start]:02x}); convert the file, or leave it out"
            ) from None

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of all documents, in order. No character is cut in two."""
        for name, size in self.sizes.items():
            if name in self._texts:
                yield from _cut(name, self._texts[name])
                continue
            if size <= BLOCK:
                if size:
                    yield Block(name, 0, size)
                continue
            with reading(name), open(name, "rb") as file:
                start = 0
                while start < size:
                    stop = min(start + BLOCK, size)
                    file.seek(stop)
                    # The block ends with a line, or, where lines are long, with a character: bytes
                    # 10xxxxxx continue one.
                    ahead = file.read(4096)
                    line = ahead.find(b"\n") + 1
                    if not line:
                        line = next((i for i, byte in enumerate(ahead) if byte & 0xC0 != 0x80), 0)
                    stop = min(stop + line, size)
                    yield Block(name, start, stop)
                    start = stop


def _cut(name: str, data: bytes) -> Iterator[Block]:
    """Yield a text in blocks that end with a line."""
    start = 0
    while start < len(data):
        stop = data.find(b"\n", start + TEXT_BLOCK) + 1 or len(data)
        yield Block(name, start, stop)
        start = stop


def library_files() -> dict[Path, str]:
    """Return the sources of the standard library without tests, each with its place there."""
    root = Path(sysconfig.get_paths()["stdlib"])
    return {
        path: path.relative_to(root).as_posix()
        for path in sorted(root.rglob("*.py"))
        if _NO_LIBRARY.isdisjoint(path.relative_to(root).parts)
    }


def named_files(names: list[str], pattern: str) -> dict[Path, str]:
    """Return each file once, by the path that leads to it first, with its name below that path."""
    found: dict[Path, tuple[Path, str]] = {}
    for name in names:
        path = Path(name)
        if os.path.isdir(path):
            for each in sorted(path.rglob("*")):
                if os.path.isfile(each) and fnmatch(each.name, pattern):
                    found.setdefault(each.resolve(), (each, each.relative_to(path).as_posix()))
        elif os.path.isfile(path):
            found.setdefault(path.resolve(), (path, path.name))
        else:
            raise LogicgenError(f"{shown(name)[1:-1]}: no such file or folder")
    if not found:
        raise LogicgenError(f"{', '.join(names)}: the corpus is empty: no file fits {pattern!r}")
    return dict(found.values())
