"""The tables `[region]` and `[grid]` of recipes: ranges, and the division into cells."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise, product
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from logicgen.recipes import Table
from logicgen.tasks import Cell
from logicgen.tasks.difficulty import Band


def _ordered(bounds: tuple[int, int]) -> tuple[int, int]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"the range {list(bounds)} is empty: the smaller number first")
    return bounds


def _increasing(edges: tuple[float, ...]) -> tuple[float, ...]:
    if len(edges) < 2 or any(low >= high for low, high in pairwise(edges)):
        raise ValueError(f"the edges {list(edges)} do not increase: give two or more, such as 0, 1")
    return edges


def _two(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f'{list(axes)}: give two different axes, such as "positions", "length"')
    return axes


# The largest number of cells. The problems of every cell are counted before the first example is
# drawn, and one page of a report shows all cells.
MOST_CELLS = 100_000

# The largest number of examples. One machine would need weeks for more examples.
MOST_EXAMPLES = 1_000_000_000

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
# `strict=False` accepts a list for a tuple, because TOML and JSON have no tuples.
_RANGE = Field(strict=False), AfterValidator(_ordered)
Symbols = Annotated[tuple[Count, Annotated[int, Field(le=1_000_000)]], *_RANGE]
Lengths = Annotated[tuple[Positive, Annotated[int, Field(le=10_000)]], *_RANGE]
Whole = Annotated[tuple[Count, Annotated[int, Field(le=10_000)]], *_RANGE]
Share = Annotated[float, Field(ge=0, le=1)]
Edges = Annotated[tuple[Share, ...], Field(strict=False), AfterValidator(_increasing)]

Column = Literal["positions", "depth", "satisfying"]
COLUMNS: tuple[Column, ...] = ("positions", "depth", "satisfying")
Axis = Literal["symbols", "length", "positions", "depth", "satisfying"]
Axes = Annotated[tuple[Axis, ...], Field(strict=False), AfterValidator(_two)]


class Ranges(Table):
    """A range of symbols and a range of lengths, both inclusive, and ranges of difficulty."""

    symbols: Symbols
    length: Lengths
    # The number of lengths in a cell (a group of problems with one number of symbols). It is more
    # than one if the length of a problem cannot be chosen, or if only some lengths exist.
    step: Positive = 1
    # Columns of difficulty: an inclusive range with a cell for each number, or the edges of cells
    positions: Whole | None = None
    depth: Whole | None = None
    satisfying: Edges | None = None

    @model_serializer(mode="wrap")
    def _without_unset(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out keys that are not set."""
        content: dict[str, Any] = dump(self)
        return {key: value for key, value in content.items() if value is not None}

    @property
    @abstractmethod
    def grouping(self) -> tuple[Axis, ...]:
        """Return the names of the numbers by which problems are divided into cells."""

    @property
    def among(self) -> tuple[int, int] | None:
        """Return `Cell.among` for cells without a number of symbols."""
        return None

    @property
    def columns(self) -> Mapping[str, tuple[float, float]]:
        """Return the least and the greatest number of each column that divides problems."""
        given = ((name, getattr(self, name)) for name in COLUMNS if name in self.grouping)
        return {name: (values[0], values[-1]) for name, values in given}

    def bands(self, column: str) -> list[Band]:
        """Return the ranges into which a column is divided."""
        if column != "satisfying":
            least, most = getattr(self, column)
            return [Band(column, number, number) for number in range(least, most + 1)]
        edges = self.satisfying or ()
        return [Band(column, low, high, below=high < edges[-1]) for low, high in pairwise(edges)]

    def sizes(self, symbols: Iterable[int | None]) -> Iterator[Cell]:
        """Yield the cells of each of some numbers of symbols and each range of `step` lengths."""
        shortest, longest = self.length
        for count in symbols:
            for first in range(shortest, longest + 1, self.step):
                yield Cell(count, first, min(self.step, longest + 1 - first))

    def cells(self) -> Iterator[Cell]:
        """Yield the cells: the groups of problems with equal or similar numbers of `grouping`."""
        (least, most), (shortest, longest) = self.symbols, self.length
        counts = range(least, most + 1) if "symbols" in self.grouping else [None]
        plain = self.sizes(counts)
        if "length" not in self.grouping:
            plain = (Cell(count, shortest, longest + 1 - shortest) for count in counts)
        bands = list(product(*map(self.bands, self.columns)))
        for cell in plain:
            among = self.among if cell.symbols is None else None
            yield from (replace(cell, among=among, bands=each) for each in bands)

    def check_cells(self) -> int:
        """Return the number of cells. Raises ValueError if there are more than `MOST_CELLS`."""
        (least, most), (shortest, longest) = self.symbols, self.length
        numbers: dict[str, int] = {
            "symbols": most - least + 1,
            "length": len(range(shortest, longest + 1, self.step)),
            **{name: len(self.bands(name)) for name in self.columns},
        }
        cells = math.prod(numbers[axis] for axis in self.grouping)
        if cells > MOST_CELLS:
            raise ValueError(
                f"{cells:,} cells of {' and '.join(self.grouping)}; {MOST_CELLS:,} are allowed:"
                " narrow a range"
            )
        return cells

    @model_validator(mode="after")
    def _ranges_fit_the_cells(self) -> Self:
        for name in COLUMNS:
            given = getattr(self, name) is not None
            if name in self.grouping and not given:
                example = "[0, 0.1, 1]" if name == "satisfying" else "[1, 4]"
                raise ValueError(f"key {name!r} is missing: give its range, as {name} = {example}")
            if given and name not in self.grouping:
                raise ValueError(
                    f"{name}: problems are not grouped by {name}, only by"
                    f" {' and '.join(self.grouping)}: to limit it, use the table [difficulty]"
                )
        self.check_cells()
        return self


class Region(Ranges):
    """The region of training problems; validation and test follow the same distribution.

    The distribution is uniform over the values of `balance`, as far as problems exist. It is
    uniform over pairs of a number and a length for a column of difficulty.
    """

    balance: Literal["length", "symbols-and-length", Column] = "length"

    @property
    def grouping(self) -> tuple[Axis, ...]:
        if self.balance == "length":
            return ("length",)
        return ("symbols" if self.balance == "symbols-and-length" else self.balance, "length")


class Grid(Ranges):
    """Cells for evaluation, also beyond the training region, with equal numbers of examples.

    Attributes:
        axes: the two numbers that divide problems into cells; None means symbols and length.
    """

    axes: Axes | None = None
    per_cell: Annotated[int, Field(ge=1, le=MOST_EXAMPLES)]

    @property
    def grouping(self) -> tuple[Axis, ...]:
        return self.axes or ("symbols", "length")

    @property
    def among(self) -> tuple[int, int] | None:
        return self.symbols
