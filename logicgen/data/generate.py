"""From a recipe to a data set on disk: resumable, and the same bytes however it is run.

The work is done in steps (`making.py`) by any number of processes. This one plans them; it never
holds an example, and of each slot no more than its cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from logicgen.data import plan as planning
from logicgen.data.cards import card
from logicgen.data.dataset import Dataset
from logicgen.data.estimate import of_plans
from logicgen.data.folder import head
from logicgen.data.making import (
    Check,
    Draw,
    Facts,
    Finish,
    Gather,
    Look,
    Lost,
    Settle,
    maker,
)
from logicgen.data.partition import Partition
from logicgen.data.plan import (
    CellPlan,
    DrawingRound,
    Listing,
    first_round,
    next_round,
    shard_size,
)
from logicgen.data.recipe import SPLITS, DataRecipe, Progress
from logicgen.data.work_files import LostError, WorkFiles
from logicgen.errors import LogicgenError
from logicgen.extras import DECISIVE
from logicgen.files import write_text
from logicgen.processes.engines import AnyPool, open_pool, shared
from logicgen.processes.pool import Failure
from logicgen.tasks import Cell, Source

Step = TypeVar("Step")

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
    versions = {package: version(package) for package in DECISIVE}
    begin = {**head(recipe, name, seed, form=2), "versions": versions}
    if not recipe.splits:
        raise LogicgenError(f"{name}: asks for no examples; give it [sizes] or a [grid]")
    if (known := Dataset.finished(folder, begin)) is not None:
        WorkFiles(folder).clear()  # of a making that was killed when all was there
        return known
    source = recipe.source("recipe")
    for table, part in (("region", recipe.region), ("grid", recipe.grid)):
        if part is not None and part.step > 1 and source.exact:
            raise LogicgenError(
                f"{name}: {table}.step: these problems are made to length, one length a cell; "
                "leave step out"
            )
    stages = planned(recipe, source, name, progress)
    of_plans(chain.from_iterable(plans for _, plans in stages)).check(folder, name)
    with Dataset.making(folder, begin) as known:
        if known is not None:  # another process made it since
            return known
        run = _Run(recipe, folder, seed, progress, stages)
        try:
            run.make(workers)
        except LostError:  # somebody has deleted files meanwhile
            WorkFiles(folder).clear()
            run = _Run(recipe, folder, seed, progress, planned(recipe, source, name, progress))
            try:
                run.make(workers)
            except LostError as error:
                raise LogicgenError(
                    f"{folder}: {error} is lost again: let nobody else delete files there while"
                    " data are made, and on a cluster let all nodes see the folder"
                ) from None
        description = {**begin, "complete": True, **run.account()}
        write_text(folder / CELLS, run.cells())
        Dataset.finish(folder, description, card(recipe, description))
        WorkFiles(folder).clear()
    return description


def planned(
    recipe: DataRecipe, source: Source, name: str, progress: Progress
) -> list[tuple[str, list[CellPlan]]]:
    """Return the stages of a recipe. LogicgenError: a split has no cell that holds a problem."""
    stages = planning.stages(recipe, source, progress)
    for split in dict(stages):
        if not any(plan.quota for each, plans in stages for plan in plans if each == split):
            raise LogicgenError(
                f"{name}: {split}: no problem has the symbols and lengths that are asked for; "
                "widen the ranges or add operators"
            )
    return stages


class _Run:
    """One pass over the stages of a data set."""

    def __init__(
        self,
        recipe: DataRecipe,
        folder: Path,
        seed: int,
        progress: Progress,
        stages: list[tuple[str, list[CellPlan]]],
    ) -> None:
        self.recipe, self.folder, self.seed, self.progress = recipe, folder, seed, progress
        self.files, self.stages = WorkFiles(folder), stages
        self.plans: dict[str, list[CellPlan]] = {}
        for split, plans in stages:
            self.plans[split] = self.plans.get(split, []) + plans
        every = chain.from_iterable(plans for _, plans in stages)
        self.partition = Partition.of(every, recipe.load_task())
        self.tables: dict[int, str] = {}  # by part of the partition, the work file of its keys
        self.shards: dict[str, list[Facts]] = {split: [] for split in self.plans}
        self.next_number = dict.fromkeys(self.plans, 0)  # of a shard

    def make(self, workers: int) -> None:
        """Make all shards, and check that no two of their problems are the same."""
        made = self.recipe, self.seed, shared(self.folder), self.partition
        with open_pool(maker, made, count=workers) as engine:
            for split, plans in self.stages:
                self._stage(split, plans, engine)
            found = list(_results(engine, map(Check, self.tables.values())))
        shards = list(chain.from_iterable(self.shards.values()))
        there = sum(shard.examples for shard in shards), sum(shard.keys for shard in shards) % 2**64
        if there != (sum(count for count, _ in found), sum(keys for _, keys in found) % 2**64):
            raise LogicgenError(
                f"{self.folder}: a shard was changed meanwhile: delete the folder and run the same"
                " command again"
            )

    def _stage(self, split: str, plans: list[CellPlan], engine: AnyPool) -> None:
        """Make the shards of some cells: a first round, then further ones for what is missing."""
        whole = self.plans[split]
        everywhere, total = (sum(plan.quota for plan in part) for part in (whole, plans))
        size = shard_size(everywhere)
        one = first_round(plans, split, self.seed, self.next_number[split], size)
        while one.end > one.number:
            before = sum(plan.held for plan in whole)
            say = partial(self._say, split, before, everywhere)
            say(0)
            self._round(one, plans, engine, say)
            say(sum(plan.held for plan in whole) - before)
            self.next_number[split] = one.end
            missing = total - sum(plan.held for plan in plans)
            if split == "grid" or not missing:
                break
            shares = planning.next_shares(plans, missing)
            one = next_round(shares, plans, split, self.seed, one.end, size)
        if plans[-1] is whole[-1]:  # the split is as full as it gets
            held = sum(plan.held for plan in whole)
            self.progress(split, held, held)

    def _say(self, split: str, before: int, total: int, new: int) -> None:
        self.progress(split, min(before + new, total), total)

    def _round(
        self,
        one: DrawingRound,
        plans: list[CellPlan],
        engine: AnyPool,
        say: Callable[[int], None],
    ) -> None:
        """Make the shards of a round, or take them as they were made."""
        stem = f"{one.split}/{one.number:05d}"
        done = self.files.read_json(f"{stem}-done.json")
        if done is None:
            settled = self.files.read_json(f"{stem}-settled.json")
            if settled is None:
                settled = self._settled(one, self._drawn(one, engine, say), engine)
                self.files.write_json(f"{stem}-settled.json", settled)
            facts = self._finished(one, settled, engine)
            done = {**settled, "shards": [asdict(each) for each in facts]}
            self.files.write_json(f"{stem}-done.json", done)
            self.files.remove_all(one.split, f"{one.number:05d}-*-*")
        else:
            facts = [Facts(**each) for each in done["shards"]]
            facts = list(_results(engine, map(Look, facts)))
        self.shards[one.split] += facts
        self.tables |= {int(part): name for part, name in done["tables"].items()}
        held = {int(cell): count for cell, count in done["held"].items()}
        _count(plans, one, {self.partition.cells[cell]: count for cell, count in held.items()})

    def _drawn(
        self, one: DrawingRound, engine: AnyPool, say: Callable[[int], None]
    ) -> dict[int, dict[int, int]]:
        """Draw all units, and gather their records; return how many, by part and bucket."""
        drawn = 0
        for found in _results(engine, map(Draw, one.units())):
            drawn += found
            say(drawn)
        steps = (
            Gather(one.split, one.number, bucket, one.drawn_in(bucket))
            for bucket in range(one.buckets)
        )
        counts: dict[int, dict[int, int]] = {}
        for bucket, gathered in enumerate(_results(engine, steps)):
            for part, count in gathered.items():
                counts.setdefault(part, {})[bucket] = count
        return counts

    def _settled(
        self, one: DrawingRound, counts: dict[int, dict[int, int]], engine: AnyPool
    ) -> dict[str, Any]:
        """Settle all parts; return, as JSON has it, tables, examples by cell, and changes."""
        numbers, parts = self.partition.numbers, self.partition.parts
        listings: dict[int, list[tuple[int, Listing]]] = {}
        for listing in one.listings:
            part = parts[numbers[listing.cell]]
            listings.setdefault(part, []).append((one.bucket(listing.unit), listing))
        rationed = frozenset(numbers[cell] for cell in one.reserved)
        steps = [
            Settle(
                part=part,
                split=one.split,
                number=one.number,
                first_drawn=one.first_drawn,
                size=one.size,
                buckets=tuple(counts.get(part, ())),
                records=sum(counts.get(part, {}).values()),
                listings=tuple(listings.get(part, ())),
                rationed=rationed,
                table=self.tables.get(part),
            )
            for part in sorted({*counts, *listings})
        ]
        tables, held, changes = {}, dict[int, int](), dict[int, list[int]]()
        for settled in _results(engine, steps):
            tables[settled.part] = settled.table
            held |= settled.held
            for bucket in settled.buckets:
                changes.setdefault(bucket, []).append(settled.part)
        return {"tables": tables, "held": held, "changes": changes}

    def _finished(self, one: DrawingRound, settled: dict[str, Any], engine: AnyPool) -> list[Facts]:
        """Write the shards of all units; return what there is to say of those with examples."""
        changes = {int(bucket): tuple(parts) for bucket, parts in settled["changes"].items()}
        split, number, drawn = one.split, one.number, one.first_drawn
        steps = (
            Finish(split, number, drawn, bucket, one.units_in(bucket), changes.get(bucket, ()))
            for bucket in range(one.buckets)
        )
        return list(chain.from_iterable(_results(engine, steps)))

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
        """Return what was made: shards and cells."""
        splits: dict[str, Any] = {}
        for split in sorted(self.shards, key=SPLITS.index):
            shards, plans = self.shards[split], self.plans[split]
            splits[split] = {
                "examples": sum(shard.examples for shard in shards),
                "cells": len(plans),
                "cells_short": sum(plan.held < plan.asked for plan in plans),
                "cells_empty": sum(0 == plan.held < plan.asked for plan in plans),
                "shards": [
                    {name: getattr(shard, name) for name in ("file", "examples", "bytes", "sha256")}
                    for shard in shards
                ],
            }
            if given_up := sum(shard.given_up for shard in shards):
                splits[split]["given_up"] = given_up
        examples = sum(split["examples"] for split in splits.values())
        distinct = self.recipe.distinct or self.recipe.load_task().distinct
        same = {"up to": "renaming" if distinct == "alpha" else "equality", "checked": True}
        return {"examples": examples, "distinct": same, "splits": splits}


def _count(plans: list[CellPlan], one: DrawingRound, held: dict[Cell, int]) -> None:
    """Count what a round gave; a cell that gave less than it was asked for holds no more."""
    asked = Counter({listing.cell: listing.quota for listing in one.listings})
    for cell, count in zip(one.cells, one.shares, strict=True):
        asked[cell] += count
    for plan in plans:
        if plan.cell in asked:
            plan.held += held.get(plan.cell, 0)
            plan.exhausted |= held.get(plan.cell, 0) < asked[plan.cell]


def _results(engine: AnyPool, steps: Iterable[Step]) -> Iterator[Any]:
    """Yield the results of steps, in order. LogicgenError: a process died. LostError: see there."""
    for result in engine.map(steps):
        if isinstance(result, Failure):
            raise LogicgenError(
                f"a worker failed ({result.reason}); run the same command again, with fewer workers"
                " if memory is short"
            )
        if isinstance(result, Lost):
            raise LostError(result.file)
        yield result
