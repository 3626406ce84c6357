"""Count the problems of test and grid that equal a training problem up to renaming.

    python benchmarks/overlap.py docs/results/commands/overlap.json FOLDER

The training problems of the studies `ltl-35` and `propositional-35` are compared with their test
and grid problems, which have another seed. The data are made in FOLDER: about 150 MB, in a few
minutes on two cores.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import logicgen
from logicgen.data.opening import load_dataset
from logicgen.files import commit
from logicgen.report.tables import write_json
from logicgen.study.records import processor, versions

# By study: the recipes of the training problems, and of test and grid.
STUDIES = {
    "ltl-35": ("ltl-35-right", "ltl-35"),
    "propositional-35": ("propositional-35", "propositional-35"),
}


def main() -> None:
    out, folder = Path(sys.argv[1]), Path(sys.argv[2])
    found: dict[str, Any] = {}
    for study, (trained, tested) in STUDIES.items():
        first, second = folder / f"{trained}-0", folder / f"{tested}-1"
        logicgen.generate(trained, first)
        logicgen.generate(tested, second, seed=1, size=52_000)
        known = _classes(first, "train")
        found[study] = {}
        for split in ("test", "grid"):
            asked = _classes(second, split)
            equal = int(np.isin(asked, known).sum())
            found[study][split] = {"problems": len(asked), "in_training": equal}
    about = {"machine": processor(), "commit": commit(), "versions": versions()}
    out.parent.mkdir(exist_ok=True)
    write_json(about | {"studies": found}, out)


def _classes(folder: Path, split: str) -> np.ndarray:
    """Return numbers that are equal for problems that are equal up to renaming."""
    return np.asarray(load_dataset(folder).table(split)["alpha_class"].to_numpy())


if __name__ == "__main__":
    main()
