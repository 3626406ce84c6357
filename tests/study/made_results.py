"""Make tables, CSV files and pictures of the shipped studies from their committed records.

    python -m tests.study.made_results

makes them in build/results. It renews the pictures that pages show, and `docs/results/SHA256SUMS`,
which lists all made files. `make docs` calls this module as a hook of MkDocs: the files become part
of the site, and each table takes the place of its marker.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

from logicgen import recipes
from logicgen.study.plan import open_study
from logicgen.study.records import FILE, read_records

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
SUMS = RESULTS / "SHA256SUMS"
MADE = ROOT / "build" / "results"
PICTURE = re.compile(r'<img [^>]*?src="([^"]+)"[^>]*>')
EXAMPLES = re.compile(r"<p>((?:logicgen .*\n?)+)</p>")
BOX = re.compile(
    r'<details class="([\w-]+)" open>\s*<summary>(.*?)</summary>\s*<p>(.*?)</p>\s*</details>',
    re.DOTALL,
)
PARAGRAPH = re.compile(r"<p>.*?</p>", re.DOTALL)
ARGUMENT = re.compile(r"\n(?=[a-z_]+: )")
CELL = re.compile(r"(?<=<td>).*?(?=</td>)")
INTERVAL = re.compile(r"\[[-+]?[\d.,]+%?, [-+]?[\d.,]+%?\]|[\d.,]+%? ± [\d.]+")


def write_results(name: str, folder: Path) -> None:
    """Write the report of a study into a folder. No point of it is computed."""
    plan = open_study(name)
    records = read_records(plan.trials, RESULTS / name)
    missing = plan.trials.keys() - records.keys()
    assert not missing, f"{RESULTS / name / FILE}: without a record of {', '.join(missing)}"
    folder.mkdir(parents=True, exist_ok=True)
    plan.write(records, folder)


def read_lines(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a folder as they are stored, by the name of their point."""
    text = gzip.decompress((folder / FILE).read_bytes()).decode()
    return {content["point"]: content for content in map(json.loads, text.splitlines())}


def sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder, by its path in the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }


def read_sums() -> dict[str, str]:
    """Return the committed sums, by path."""
    lines = SUMS.read_text(encoding="utf-8").splitlines()
    return {path: digest for digest, _, path in (line.partition("  ") for line in lines)}


def on_startup(**_: Any) -> None:
    """Make the files of all studies. MkDocs calls this function before it builds a site."""
    shutil.rmtree(MADE, ignore_errors=True)
    for name in recipes.names("studies", ".toml"):
        write_results(name, MADE / name)


def on_files(files: Any, config: Any) -> None:
    """Add the made files to the site. MkDocs calls this function with all files of docs/."""
    from mkdocs.structure.files import File

    for path in MADE.glob("*/*"):
        place = f"results/{path.relative_to(MADE).as_posix()}"
        if files.get_file_from_path(place) is None:
            files.append(File.generated(config, place, abs_src_path=str(path)))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put each table after its marker. MkDocs calls this function with the source of each page."""
    from tests.study.page_tables import fill  # it imports this module

    return fill(markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Improve the HTML of a page. MkDocs calls this function after the conversion from Markdown.

    Pictures become links to their files, and intervals in tables are kept in one line. The examples
    of `--help` become code. In docstrings, each argument begins a line.
    """
    html = PICTURE.sub(r'<a href="\1">\g<0></a>', html)
    if page.file.src_path == "commands.md":
        html = EXAMPLES.sub(r"<pre><code>\1</code></pre>", html)
    if page.file.src_path.startswith("api/"):
        html = PARAGRAPH.sub(
            lambda found: ARGUMENT.sub("<br>\n", found[0]), BOX.sub(_unboxed, html)
        )
    return CELL.sub(lambda cell: INTERVAL.sub(_joined, cell[0]), html)


def _unboxed(box: re.Match[str]) -> str:
    """Return the paragraph of an argument with a long description, which griffe puts into a box."""
    name, begin, rest = box.groups()
    return f"<p>{name.replace('-', '_')}: {begin}\n{rest}</p>"


def _joined(interval: re.Match[str]) -> str:
    return interval[0].replace(" ", "\N{NO-BREAK SPACE}")


if __name__ == "__main__":
    on_startup()
    for picture in RESULTS.glob("*/*.png"):
        shutil.copy(MADE / picture.relative_to(RESULTS), picture)
    lines = [f"{digest}  {path}\n" for path, digest in sums(MADE).items()]
    SUMS.write_text("".join(lines), encoding="utf-8")
