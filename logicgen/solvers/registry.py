"""Which solver plugins are registered, and what each says of itself, or why it is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

from logicgen.extras import plugins


@cache
def solver_plugins() -> dict[str, EntryPoint]:
    """Return every registered solver plugin by name; nothing is imported yet."""
    return plugins("logicgen.solvers")


@dataclass(frozen=True)
class PluginFacts:
    """The logic and the line of a plugin, and why it cannot run here."""

    logic: str = ""
    about: str = ""
    missing: str = ""  # what to install
    limit: str = "seconds"  # as `Solver.limit`
    broken: str = ""  # what is wrong with it

    @property
    def state(self) -> str:
        """Return `available`, what to install, or what is wrong."""
        return f"broken: {self.broken}" if self.broken else self.missing or "available"

    @property
    def line(self) -> str:
        """Return logic and description, with what to install, or what is wrong."""
        if self.broken:
            return self.state
        missing = f" (not available: {self.missing})" if self.missing else ""
        return f"{self.logic}: {self.about}{missing}"


def facts_of(load: Callable[[], Any]) -> PluginFacts:
    """Return the facts of the class that `load` returns, whatever it raises or is."""
    try:
        plugin = load()
        missing = plugin.missing()
        said = (plugin.logic, plugin.about, missing or "", getattr(plugin, "limit", "seconds"))
        for method in (plugin.solve, plugin.check):
            if not callable(method):
                raise TypeError("solve and check have to be methods")
    except (Exception, SystemExit) as error:
        return PluginFacts(broken=in_words(error))
    if not all(isinstance(each, str) for each in said):
        return PluginFacts(broken="logic, about and what missing() returns have to be texts")
    return PluginFacts(*map(in_line, said))


def in_words(error: BaseException) -> str:
    """Return an exception in one line, whatever it is."""
    try:
        text = str(error)
    except Exception:  # the error is a plugin's, and so is what makes its text
        text = "which says nothing"
    return f"{type(error).__name__}: {in_line((text.splitlines() or [''])[0])}"


def in_line(text: str) -> str:
    """Return a text in one line that is not too long."""
    return " ".join(text[:1000].split())[:300]
