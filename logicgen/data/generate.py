"""From a recipe to a data set on disk: resumable, with the same bytes for any number of workers.

The modules of this package use these terms:

    cell      the problems of one number of symbols and one range of lengths, or of one difficulty
    part      a group of cells
    slot      the place of an example in its split
    unit      a group of slots, whose examples become one shard (file)
    bucket    a group of units
    key       a number of eight bytes that identifies a problem

The splits are made in rounds. A round has four steps, and any number of processes share each step:

    draw      for each unit: draw a first example for each slot, independently of other units
    gather    for each bucket: write the key and the slot of each example, a file for each part
    settle    for each part: if several slots have the same problem, decide which slot keeps it,
              and draw new examples for the other slots (`unique.py`)
    finish    for each bucket: write the shards

At the end, all keys are checked: no key may occur twice, and the shards must have the same keys.

The first process plans the steps (`_Generation`). It keeps the cell of each slot in memory, but no
example. Workers do the steps (`Maker`) and exchange their results by work files. A step that is
repeated writes the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from logicgen.callbacks import StageProgress, no_progress
from logicgen.data import plan as planning
from logicgen.data.cards import card
from logicgen.data.croissant import croissant_text
from logicgen.data.dataset import Dataset
from logicgen.data.estimate import of_plans
from logicgen.data.folder import head
from logicgen.data.maker import LostError, Maker, PartClaims, ShardFacts, WorkFiles, keys_file
from logicgen.data.pilot import check_difficulty
from logicgen.data.plan import CellPlan, DrawingRound, first_round, next_round, shard_size
from logicgen.data.ranges import COLUMNS
from logicgen.data.recipe import SPLITS, DataRecipe
from logicgen.data.unique import Partition
from logicgen.errors import LogicgenError
from logicgen.extras import DECISIVE
from logicgen.files import write_text
from logicgen.processes.engines import AnyPool, open_pool, shared
from logicgen.processes.pool import Failure
from logicgen.tasks import Cell

CELLS = "cells.csv"


def generate(
    recipe: DataRecipe,
    folder: Path,
    *,
    name: str,
    seed: int = 0,
    workers: int = 1,
    progress: StageProgress = no_progress,
) -> dict[str, Any]:
    """Make the data set in `folder`, or finish it there; return its description.

    The bytes depend only on recipe, seed and versions. Raises LogicgenError if the folder has other
    content or cannot be written, or if the recipe's region contains no problem.
    """
    versions = {package: version(package) for package in DECISIVE}
    begin = {**head(recipe, name, seed, form=2), "versions": versions}
    if not recipe.splits:
        raise LogicgenError(f"{name}: asks for no examples; give it [sizes] or a [grid]")
    if (known := Dataset.finished(folder, begin)) is not None:
        WorkFiles(folder).clear()  # a process that was killed at the end left these files
        return known
    stages = planned(recipe, name, progress)
    of_plans(chain.from_iterable(plans for _, plans in stages)).check(folder, name)
    check_difficulty(recipe, name, seed, stages)
    with Dataset.making(folder, begin) as known:
        if known is not None:  # another process has made the data set meanwhile
            return known
        for last in (False, True):
            run = _Generation(recipe, folder, seed, progress, stages)
            try:
                run.make(workers)
                break
            except KeyboardInterrupt:  # the pool has killed its workers
                run.files.remove_unfinished()
                raise
            except LostError as error:  # work files were deleted meanwhile
                if last:
                    raise LogicgenError(
                        f"{folder}: {error} is lost again: let nobody else delete files there while"
                        " data are made, and on a cluster let all nodes see the folder"
                    ) from None
            run.files.clear()
            stages = planned(recipe, name, progress)
        description = {**begin, "complete": True, **run.account()}
        write_text(folder / CELLS, run.cells())
        write_text(folder / "croissant.json", croissant_text(recipe, description))
        Dataset.finish(folder, description, card(recipe, description))
        run.files.clear()
    return description


def planned(
    recipe: DataRecipe, name: str, progress: StageProgress
) -> list[tuple[str, list[CellPlan]]]:
    """Return the stages of a recipe: pairs of a split and the plans of its cells, in order.

    Raises LogicgenError if no cell of a split contains a problem.
    """
    source = recipe.source("recipe")
    for table, part in recipe.parts.items():
        if part.step > 1 and source.exact:
            raise LogicgenError(
                f"{name}: {table}.step: these problems are made to length, one length a cell; "
                "leave step out"
            )
    stages = planning.stages(recipe, source, progress)
    for split in dict(stages):
        if not any(plan.quota for each, plans in stages for plan in plans if each == split):
            raise LogicgenError(
                f"{name}: {split}: no problem has the symbols and lengths that are asked for; "
                "widen the ranges or add operators"
            )
    return stages


class _Generation:
    """One attempt to make a data set. A stage is a split, or some cells of a split."""

    def __init__(
        self,
        recipe: DataRecipe,
        folder: Path,
        seed: int,
        progress: StageProgress,
        stages: list[tuple[str, list[CellPlan]]],
    ) -> None:
        self.recipe, self.folder, self.seed, self.progress = recipe, folder, seed, progress
        self.files, self.stages = WorkFiles(folder), stages
        self.plans: dict[str, list[CellPlan]] = {}
        for split, plans in stages:
            self.plans[split] = self.plans.get(split, []) + plans
        every = chain.from_iterable(plans for _, plans in stages)
        self.partition = Partition.of(every, recipe.load_task())
        self.keys: dict[int, str] = {}  # for each part (group of cells), the file with its keys
        self.shards: dict[str, list[ShardFacts]] = {split: [] for split in self.plans}
        self.next_number = dict.fromkeys(self.plans, 0)  # number of the next shard of a split

    def make(self, workers: int) -> None:
        """Make all shards, and check that no two of their problems are the same."""
        made = self.recipe, self.seed, shared(self.folder), self.partition
        with open_pool(Maker, made, count=workers) as pool:
            for split, plans in self.stages:
                self._stage(split, plans, pool)
            found = list(_each(pool, Maker.check, ((name,) for name in self.keys.values())))
        shards = list(chain.from_iterable(self.shards.values()))
        there = sum(shard.examples for shard in shards), sum(shard.keys for shard in shards) % 2**64
        if there != (sum(count for count, _ in found), sum(keys for _, keys in found) % 2**64):
            raise LogicgenError(
                f"{self.folder}: a shard was changed meanwhile: delete the folder and run the same"
                " command again"
            )

    def _stage(self, split: str, plans: list[CellPlan], pool: AnyPool) -> None:
        """Make the shards of some cells of a split.

        Rounds repeat until no example is missing, or no new problem is found. The grid has a single
        round.

        plans: the plans of these cells.
        """
        whole = self.plans[split]
        everywhere, total = (sum(plan.quota for plan in part) for part in (whole, plans))
        size = shard_size(everywhere)
        drawing = first_round(plans, split, self.seed, self.next_number[split], size)
        while drawing.end > drawing.number:
            before = sum(plan.held for plan in whole)

            def say(new: int, before: int = before) -> None:
                self.progress(split, min(before + new, everywhere), everywhere)

            say(0)
            self._round(drawing, plans, pool, say)
            say(sum(plan.held for plan in whole) - before)
            self.next_number[split] = drawing.end
            missing = total - sum(plan.held for plan in plans)
            if split == "grid" or not missing:
                break
            shares = planning.next_shares(plans, missing)
            drawing = next_round(shares, plans, split, self.seed, drawing.end, size)
        if plans[-1] is whole[-1]:  # no more examples can be found for the split
            held = sum(plan.held for plan in whole)
            self.progress(split, held, held)

    def _round(
        self,
        drawing: DrawingRound,
        plans: list[CellPlan],
        pool: AnyPool,
        say: Callable[[int], None],
    ) -> None:
        """Make the missing shards of a round, and count the examples of each cell."""
        name = f"{drawing.stem}-settled.json"
        parts = self.files.read_json(name)
        if parts is None:
            parts = self._settled(drawing, self._drawn(drawing, pool, say), pool)
            self.files.write_json(name, parts)
        changes: dict[int, list[int]] = {}
        held: dict[Cell, int] = {}
        for part, counts, buckets in parts:
            self.keys[part] = keys_file(drawing, part)
            held |= {self.partition.cells[cell]: count for cell, count in counts}
            for bucket in buckets:
                changes.setdefault(bucket, []).append(part)
        brief = drawing.outline()
        steps = ((brief, bucket, changes.get(bucket, ())) for bucket in range(drawing.buckets))
        for facts in _each(pool, Maker.finish, steps):
            self.shards[drawing.split] += facts
        self.files.remove_settled(drawing)
        # A cell with fewer examples than asked for has no more problems.
        asked = Counter({listing.cell: listing.quota for listing in drawing.listings})
        asked.update(dict(zip(drawing.cells, drawing.shares, strict=True)))
        for plan in plans:
            if plan.cell in asked:
                plan.held += held.get(plan.cell, 0)
                plan.exhausted |= held.get(plan.cell, 0) < asked[plan.cell]

    def _drawn(
        self, drawing: DrawingRound, pool: AnyPool, say: Callable[[int], None]
    ) -> dict[int, list[int]]:
        """Draw the examples of all shards in a round, and write their keys and slots.

        Returns, for each part (group of cells), the buckets (groups of shards) with its examples.
        """
        drawn = 0
        for found in _each(pool, Maker.draw, ((unit,) for unit in drawing.units())):
            drawn += found
            say(drawn)
        brief, buckets = drawing.outline(), dict[int, list[int]]()
        steps = ((brief, bucket) for bucket in range(drawing.buckets))
        for bucket, parts in enumerate(_each(pool, Maker.gather, steps)):
            for part in parts:
                buckets.setdefault(part, []).append(bucket)
        return buckets

    def _settled(
        self, drawing: DrawingRound, buckets: dict[int, list[int]], pool: AnyPool
    ) -> list[PartClaims]:
        """Replace repeated examples, so that no problem occurs twice.

        Each part (group of cells) is a separate job. Returns the result for each part.

        buckets: for each part, the buckets (groups of shards) with examples of the part.
        """
        brief = drawing.outline()
        listed = {self.partition.part(listing.cell) for listing in drawing.listings}
        steps = (
            (brief, part, buckets.get(part, ()), self.keys.get(part))
            for part in sorted({*buckets, *listed})
        )
        return list(_each(pool, Maker.settle, steps))

    def cells(self) -> str:
        """Return a CSV text: the planned, made and possible numbers of examples of each cell."""
        parts = self.recipe.parts.values()
        columns = [name for name in COLUMNS if any(name in part.columns for part in parts)]
        lines = [["split", "symbols", "length", *columns, "asked", "held", "exist"]]
        for split in sorted(self.plans, key=SPLITS.index):
            for plan in sorted(self.plans[split], key=_order):
                cell, bands = plan.cell, {band.column: str(band) for band in plan.cell.bands}
                symbols = "" if cell.symbols is None else f"{cell.symbols}"
                first, last = cell.lengths[0], cell.lengths[-1]
                length = f"{first}" if first == last else f"{first}-{last}"
                counts = (f"{plan.asked}", f"{plan.held}", f"{plan.holds}")
                difficulty = (bands.get(name, "") for name in columns)
                lines.append([split, symbols, length, *difficulty, *counts])
        return "".join(",".join(line) + "\n" for line in lines)

    def account(self) -> dict[str, Any]:
        """Return the part of the description that lists the shards and counts the cells."""
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
            if left_out := sum(plan.asked == 0 < plan.holds for plan in plans):
                splits[split]["cells_left_out"] = left_out
            if given_up := sum(shard.given_up for shard in shards):
                splits[split]["given_up"] = given_up
        examples = sum(split["examples"] for split in splits.values())
        distinct = self.recipe.distinct or self.recipe.load_task().distinct
        same = {"up to": "renaming" if distinct == "alpha" else "equality", "checked": True}
        return {"examples": examples, "distinct": same, "splits": splits}


def _order(plan: CellPlan) -> tuple[int, int, list[float]]:
    return plan.cell.symbols or 0, plan.cell.length, [band.low for band in plan.cell.bands]


def _each(
    pool: AnyPool, step: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
) -> Iterator[Any]:
    """Do a step once for each tuple of arguments; yield the results, in order.

    step: a method of `Maker`, which workers call.

    Raises LogicgenError if a process died, and LostError if a work file is missing.
    """
    for result in pool.map((step, *each) for each in arguments):
        if isinstance(result, Failure):
            raise LogicgenError(
                f"a worker failed ({result.reason}); run the same command again, with fewer workers"
                " if memory is short"
            )
        if isinstance(result, LostError):
            raise result
        yield result
