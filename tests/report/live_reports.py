"""Give the reports in docs/reports the style, the scripts and the frame of this version.

Their data stay, in the blocks that this version puts them into.

python -m tests.report.live_reports
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

from logicgen.report.document import Document, rendered

FOLDER = Path(__file__).parents[2] / "docs" / "reports"

POLICY = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
STYLE = re.compile("<style>.*?</style>", re.DOTALL)
BLOCK = re.compile('<script id="[a-z]+" type="application/octet-stream">([^<]*)</script>')
BLOCKS = re.compile(f"{BLOCK.pattern}(\n{BLOCK.pattern})*")
EXAMPLES = re.compile('<section id="examples".*?</section>', re.DOTALL)
SCRIPT = re.compile("<script>.*?</script>", re.DOTALL)


def renewed(page: str) -> str:
    """Return a page with the policy, the style, the frame and the scripts of this version."""
    empty = rendered(Document("", "", [], {}))
    for part in (POLICY, STYLE, EXAMPLES, SCRIPT):
        (now,) = part.findall(empty)
        page, times = part.subn(lambda _, now=now: now, page)
        assert times == 1, part.pattern
    data, *later = (
        json.loads(gzip.decompress(base64.b64decode(block))) for block in BLOCK.findall(page)
    )
    for columns in later:
        data.get("rows", {}).update(columns)
    blocks = BLOCKS.search(rendered(Document("", "", [], data)))
    assert blocks is not None
    page, times = BLOCKS.subn(lambda _: blocks[0], page)
    assert times == 1
    return page


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.html")):
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(path)
