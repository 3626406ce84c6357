"""From a recipe to a data set on disk: resumable, and the same bytes however it is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any

from logicgen.atomic import write_text
from logicgen.checksum import sha256
from logicgen.data import cell_plan as planning
from logicgen.data.card import card
from logicgen.data.cell_plan import CellPlan, Unit
from logicgen.data.data_recipe import SPLITS, DataRecipe, Progress
from logicgen.data.dataset import Dataset
from logicgen.data.drawer import Drawer, Drawn, Example, reserved_remainder, unit_drawer
from logicgen.data.estimate import of_plans
from logicgen.data.folder import head
from logicgen.data.shard import given_up, keys, read_shard, shard_path, write_shard
from logicgen.errors import LogicgenError
from logicgen.tasks import Cell
from logicgen.workers import Failure, Workers

CELLS = "cells.csv"


def generate(
    recipe: DataRecipe,
    folder: Path,
    *,
    name: str,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = lambda split, done, total: None,
) -> dict[str, Any]:
    """Make the data set in `folder`, or finish it there; return its description.

    The bytes depend on recipe, seed and versions alone. Raises LogicgenError where the folder holds
    something else, cannot be written, or the recipe's region holds no problem at all.
    """
    packages = ("logicgen", "lark", "pyarrow", "python-sat")
    versions = {package: version(package) for package in packages}
    begin = {**head(recipe, name, seed), "versions": versions}
    if not recipe.splits:
        raise LogicgenError(f"{name}: asks for no examples; give it [sizes] or a [grid]")
    if (known := Dataset.finished(folder, begin)) is not None:
        return known
    run = _Run(recipe, folder, seed, progress)
    for table, part in (("region", recipe.region), ("grid", recipe.grid)):
        if part is not None and part.step > 1 and run.drawer.source.exact:
            raise LogicgenError(
                f"{name}: {table}.step: these problems are made to length, one length a cell; "
                "leave step out"
            )
    stages = planning.stages(recipe, run.drawer.source, progress)
    for split, plans in stages:
        run.plans[split] = run.plans.get(split, []) + plans
    for split, plans in run.plans.items():
        if not any(plan.quota for plan in plans):
            raise LogicgenError(
                f"{name}: {split}: no problem has the symbols and lengths that are asked for; "
                "widen the ranges or add operators"
            )
    of_plans(chain.from_iterable(run.plans.values())).check(folder, name)
    with Dataset.making(folder, begin) as known:
        if known is not None:  # another process made it since
            return known
        with Workers[Unit, Drawn](unit_drawer, (recipe, seed), count=workers) as pool:
            for split, plans in stages:
                run.make(split, plans, pool)
            description = {**begin, "complete": True, **run.account()}
        write_text(folder / CELLS, run.cells())
        Dataset.finish(folder, description, card(recipe, description))
    return description


@dataclass
class _Run:
    recipe: DataRecipe
    folder: Path
    seed: int
    progress: Progress
    plans: dict[str, list[CellPlan]] = field(default_factory=dict)
    shards: dict[str, list[Path]] = field(default_factory=dict)
    next_number: dict[str, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    given_up: Counter[str] = field(default_factory=Counter)  # problems, by split

    def __post_init__(self) -> None:
        self.drawer = Drawer(self.recipe, self.seed)

    def make(self, split: str, plans: list[CellPlan], pool: Workers[Unit, Drawn]) -> None:
        """Make the shards of some cells: a first round, then further ones for what is missing."""

        def held(plans: list[CellPlan]) -> int:
            return sum(plan.held for plan in plans)

        self.shards.setdefault(split, [])
        whole, by_cell = self.plans[split], {plan.cell: plan for plan in plans}
        everywhere, total = (sum(plan.quota for plan in part) for part in (whole, plans))
        size = planning.shard_size(everywhere)
        number = self.next_number.get(split, 0)
        units = planning.first_units(plans, split, self.seed, number, size)
        self.progress(split, held(whole), everywhere)
        while units:
            for unit, found in self._settled(units, pool):
                _count(by_cell, unit, found)
                self.progress(split, held(whole), everywhere)
            self.next_number[split] = number = units[-1].number + 1
            missing = total - held(plans)
            if split == "grid" or not missing:
                break
            slots, cells = planning.next_slots(plans, missing), planning.rationed(plans)
            units = planning.draw_units(slots, split, self.seed, number, number, cells, size)
        if plans[-1] is whole[-1]:  # the split is as full as it gets
            self.progress(split, held(whole), held(whole))

    def _settled(
        self, units: list[Unit], pool: Workers[Unit, Drawn]
    ) -> Iterator[tuple[Unit, Counter[Cell]]]:
        """Yield the units in order, with how many examples each gave of each cell."""
        paths = [shard_path(self.folder, unit.split, unit.number) for unit in units]
        there = [path.exists() for path in paths]
        results = pool.map(
            unit for unit, made in zip(units, there, strict=True) if not (made or unit.listed)
        )
        exact = units[0].cells[0].symbols is not None
        for unit, path, made in zip(units, paths, there, strict=True):
            if made:  # and whole: it was renamed into place, and its pages carry checksums
                table = read_shard(path)
                self.seen.update(keys(table, self.drawer.alpha))
                found = table.select(["symbols", "length"]).to_pydict().values()
                places = list(zip(*found, strict=True))
                self.given_up[unit.split] += given_up(path)
            else:
                before = self.drawer.given_up
                examples = self._list(unit) if unit.listed else self._new(unit, next(results))
                lost = self.drawer.given_up - before
                if examples:  # what is not written down would be forgotten after an interruption
                    write_shard(path, examples, lost)
                    self.given_up[unit.split] += lost
                places = [(example.symbols, example.length) for example in examples]
            part = self.recipe.grid if unit.split == "grid" else self.recipe.region
            assert part is not None
            held = Counter(part.cell(s if exact else None, n) for s, n in places)
            if not held.keys() <= set(unit.cells):
                raise LogicgenError(
                    f"{path}: holds problems of other cells; delete it and run the same command"
                    " again, which makes it anew"
                )
            if held:
                self.shards[unit.split].append(path)
            yield unit, held

    def _new(self, unit: Unit, drawn: Drawn | Failure) -> list[Example]:
        """Return what a worker found, drawn again where an earlier example is the same problem."""
        if isinstance(drawn, Failure):
            raise LogicgenError(
                f"a worker failed ({drawn.reason}); run the same command again, with fewer workers"
                " if memory is short"
            )
        self.drawer.given_up += drawn.given_up
        exhausted: set[Cell] = set()
        examples = []
        for place, (cell, example) in enumerate(zip(unit.cells, drawn.examples, strict=True)):
            if example is None or cell in exhausted:
                continue
            if example.key in self.seen:
                example, _ = self.drawer.slot(unit, place, drawn.attempts[place] + 1, self.seen)
            if example is None:
                exhausted.add(cell)
                continue
            self.seen.add(example.key)
            examples.append(example)
        return examples

    def _list(self, unit: Unit) -> list[Example]:
        examples: list[Example] = []
        for cell, quota in Counter(unit.cells).items():
            found = self.drawer.listed(cell, unit.split, reserved_remainder(unit, cell), self.seen)
            examples += islice(found, quota)
        return examples

    def cells(self) -> str:
        """Return a CSV line per cell: how many examples were asked for, are held, and exist."""
        lines = ["split,symbols,length,asked,held,exist"]
        for split in sorted(self.plans, key=SPLITS.index):
            plans = self.plans[split]
            for plan in sorted(plans, key=lambda p: (p.cell.symbols or 0, p.cell.length)):
                symbols = "" if plan.cell.symbols is None else plan.cell.symbols
                first, last = plan.cell.lengths[0], plan.cell.lengths[-1]
                length = first if first == last else f"{first}-{last}"
                lines.append(f"{split},{symbols},{length},{plan.asked},{plan.held},{plan.holds}")
        return "\n".join(lines) + "\n"

    def account(self) -> dict[str, Any]:
        """Return what was made: shards and cells. LogicgenError: two problems are the same."""
        different: set[int] = set()
        splits: dict[str, Any] = {}
        for split in sorted(self.shards, key=SPLITS.index):
            files = []
            for path in self.shards[split]:
                table = read_shard(path)
                different.update(keys(table, self.drawer.alpha))
                name, size = path.relative_to(self.folder).as_posix(), path.stat().st_size
                facts = {"file": name, "examples": table.num_rows, "bytes": size}
                files.append({**facts, "sha256": sha256(path)})
            plans = self.plans[split]
            splits[split] = {
                "examples": sum(file["examples"] for file in files),
                "cells": len(plans),
                "cells_short": sum(plan.held < plan.asked for plan in plans),
                "cells_empty": sum(0 == plan.held < plan.asked for plan in plans),
                "shards": files,
            }
            if self.given_up[split]:
                splits[split]["given_up"] = self.given_up[split]
        examples = sum(split["examples"] for split in splits.values())
        if len(different) != examples:
            raise LogicgenError(
                f"{self.folder}: {examples - len(different)} problems occur twice; a shard was "
                "changed meanwhile: delete the folder and run the same command again"
            )
        distinct = {"up to": "renaming" if self.drawer.alpha else "equality", "checked": True}
        return {"examples": examples, "distinct": distinct, "splits": splits}


def _count(plans: dict[Cell, CellPlan], unit: Unit, held: Counter[Cell]) -> None:
    """Count what a unit gave; a cell that gave less than it was asked for holds no more."""
    for cell, asked in Counter(unit.cells).items():
        plans[cell].held += held[cell]
        plans[cell].exhausted |= held[cell] < asked
