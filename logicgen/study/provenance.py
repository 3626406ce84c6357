"""The machine, the source tree and the versions that a record was computed with."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def machine(device: str) -> str:
    """Return the name of the GPU, or of the processor and how many threads of it are used."""
    import torch

    if device != "cpu" and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    threads = torch.get_num_threads()
    return f"{processor()}, {threads} {'thread' if threads == 1 else 'threads'}"


def processor() -> str:
    """Return the name of this machine's processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def commit() -> str | None:
    """Return the commit of the source tree that this runs from, if any, with a + if changed."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        changes = _git(root, "status", "--porcelain", "-uno")
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changes else "")


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    # Only constants and the package's own folder are in the command.
    found = subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
    return found.strip()


def versions() -> dict[str, str]:
    """Return the versions of what a result may depend on."""
    found = {name: version(name) for name in ("torch", "numpy")}
    return {"logicgen": version("logicgen"), "python": platform.python_version(), **found}
