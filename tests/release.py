"""Build and check a release: `make release`. The files are left in `dist/`.

The steps: the version has a section in the changelog; wheel and source distribution are built twice
with equal bytes; `twine` and `check-wheel-contents` accept them; the wheel is installed in an empty
environment of each supported Python, where the tests of the core pass and the commands of the
README run; a list of all dependencies is written (CycloneDX). Nothing is uploaded.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13")
MODULE = [sys.executable, "-m"]
CONSTRAINTS = ["--constraint", ROOT / "constraints.txt"]


def run(*command: object, cwd: Path = ROOT, most: int = 0, **environment: str) -> str:
    """Run a command and return its output.

    most: the highest exit status that is no failure; above it, CalledProcessError is raised and the
        output printed.
    """
    words = [str(word) for word in command]
    print("$", shlex.join(words), flush=True)
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **environment}, text=True, capture_output=True
    )
    if not 0 <= done.returncode <= most:
        print(done.stdout, done.stderr, sep="\n")
        done.check_returncode()
    return done.stdout


def check_version() -> str:
    """Return the version. Raises SystemExit unless the changelog has a section for it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if f"## {version} (" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        sys.exit(f"CHANGELOG.md: no section for {version}: rename `Unreleased` and add the date")
    return str(version)


def build(folder: Path) -> dict[str, bytes]:
    """Return the wheel and the source distribution by name, built from the committed files."""
    seconds = run("git", "log", "-1", "--format=%ct").strip()
    run(*MODULE, "build", "--outdir", folder, SOURCE_DATE_EPOCH=seconds)
    (source,) = folder.glob("*.tar.gz")
    date_files(source, int(seconds))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def date_files(archive: Path, seconds: int) -> None:
    """Give all files of a source distribution one date and no owner, which setuptools does not."""
    with tarfile.open(archive) as old:
        files = [(each, old.extractfile(each)) for each in old.getmembers()]
        contents = [(each, file.read() if file else b"") for each, file in files]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for each, content in sorted(contents, key=lambda pair: pair[0].name):
            each.mtime, each.uid, each.gid, each.uname, each.gname = seconds, 0, 0, "", ""
            each.pax_headers = {}
            new.addfile(each, io.BytesIO(content))
    archive.write_bytes(gzip.compress(packed.getvalue(), mtime=seconds))


def readme_commands() -> list[list[str]]:
    """Return the commands of the README that need the core alone."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("## Two commands")[0]
    return [shlex.split(line) for line in re.findall(r"^\$ (logicgen .*)$", text, re.M)]


def check_installation(python: str, wheel: Path) -> None:
    """Install the wheel in an empty environment; run the core's tests and the README's commands."""
    with tempfile.TemporaryDirectory(prefix="logicgen release ") as folder:
        scratch = Path(folder)
        run(python, "-m", "venv", scratch / "venv")
        own = scratch / "venv" / "bin"
        run(own / "python", "-m", "pip", "install", "--quiet", *CONSTRAINTS, f"{wheel}[dev]")
        for command in readme_commands():
            run(own / command[0], *command[1:], cwd=scratch, most=1)  # 1: an answer is wrong
        run("git", "clone", "--quiet", ROOT, scratch / "files")
        shutil.rmtree(scratch / "files" / "logicgen")  # so that the tests import the wheel
        tests = [f"tests/{name}" for name in ("solvers", "syntax", "tasks", "scoring", "data")]
        marked = "not (browser or cluster or slow or store or trainer)"
        run(own / "python", "-m", "pytest", "-m", marked, *tests, cwd=scratch / "files")
        if python == sys.executable:
            sbom = DIST / f"{wheel.name.split('-py3')[0]}.cdx.json"
            run(*MODULE, "cyclonedx_py", "environment", own / "python", "--output-file", sbom)


def main() -> None:
    """Build and check the release of the committed files."""
    if changed := run("git", "status", "--porcelain"):
        sys.exit(f"there are changes that are not committed:\n{changed}")
    version = check_version()
    shutil.rmtree(DIST, ignore_errors=True)
    first = build(DIST)
    with tempfile.TemporaryDirectory() as again:
        assert build(Path(again)) == first, "two builds of the same files differ"
    run(*MODULE, "twine", "check", "--strict", *(DIST / name for name in first))
    (wheel,) = DIST.glob("*.whl")
    run(*MODULE, "check_wheel_contents", wheel)
    missing = []
    for number in PYTHONS:
        own = f"{sys.version_info[0]}.{sys.version_info[1]}" == number
        if python := sys.executable if own else shutil.which(f"python{number}"):
            check_installation(python, wheel)
        else:
            missing.append(number)
    print(*sorted(path.name for path in DIST.iterdir()), sep="\n")
    if missing:
        sys.exit(f"logicgen {version} was not tried with Python {', '.join(missing)}: install them")


if __name__ == "__main__":
    main()
