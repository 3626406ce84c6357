"""Rooms that share their name with a function of `logicgen.library`."""

from __future__ import annotations

from pkgutil import resolve_name
from types import ModuleType
from typing import Any


class CallableRoom(ModuleType):
    """A package that can be called as the function of its name.

    `logicgen.train(...)` is a function of the library and `logicgen.train.fit` a module. Importing
    the module makes `logicgen.train` the package, so the package has to do for both.
    """

    @property
    def _function(self) -> str:
        return f"logicgen.library:{self.__name__.rpartition('.')[2]}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function of the library."""
        return resolve_name(self._function)(*args, **kwargs)

    def __reduce__(self) -> Any:
        """Return what pickle stores, so that another process may call it: the function."""
        return resolve_name, (self._function,)
