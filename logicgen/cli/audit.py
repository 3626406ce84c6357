"""The command `logicgen audit`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import click

from logicgen import library
from logicgen.cli.options import POSITIVE, SEED, LocalPath, integer_option
from logicgen.cli.terminal import is_standard_output, put
from logicgen.errors import LogicgenError


@click.command("audit")
@click.argument("function", required=False, metavar="[MODULE:FUNCTION|FILE.py:FUNCTION]")
@click.option(
    "--mode", type=click.Choice(["strict", "tolerant"]), help="Audit logicgen's own scorer."
)
@click.option(
    "--task",
    default="propositional",
    show_default=True,
    help="A task such as propositional or ltl.",
)
@integer_option("--count", 20, help="Number of random problems.")
@SEED
@click.option(
    "--paid",
    type=POSITIVE,
    default=1.0,
    show_default=True,
    help="Least reward that counts as paid.",
)
@click.option("--dress", "dresses", multiple=True, help="A form of completions to try [all].")
@click.option("--only", multiple=True, help="A class of completions to try [all].")
@click.option("--json", "target", type=LocalPath(allow_dash=True), help="Write JSON; - is stdout.")
def command(
    function: str | None,
    mode: str | None,
    task: str,
    dresses: Sequence[str],
    only: Sequence[str],
    target: str | None,
    **settings: Any,
) -> int:
    """Report which wrong completions a verifier rewards.

    The verifier is a Python FUNCTION (problem, completion) -> reward.

    Exit status: 0 if no wrong completion is rewarded. 1 if a wrong completion is rewarded, or if
    the function raises an exception. 2 for bad input.

    \b
    logicgen audit my_rewards:reward --task propositional
    logicgen audit path/to/rewards.py:reward --task ltl --dress tags
    """
    import json

    if (function is None) == (mode is None):
        raise click.UsageError("give either MODULE:FUNCTION or --mode strict|tolerant")
    verifier: Any = _loaded(function) if function else mode
    chosen = {name: value for name, value in (("dresses", dresses), ("only", only)) if value}
    found = library.audit(verifier, task, **settings, **chosen)
    as_json = json.dumps(found.as_dict(), ensure_ascii=False, indent=2)
    if target is None or not is_standard_output(target):
        put(found.text)
    else:
        put(as_json)
    if target is not None and not is_standard_output(target):
        library.write_texts(Path(target), [as_json, "\n"])
    return 0 if found.clean else 1


def _loaded(name: str) -> Any:
    """Import the function `MODULE:FUNCTION` or `FILE.py:FUNCTION`.

    Raises LogicgenError if the module, the file or the function cannot be found.
    """
    place, colon, attribute = name.rpartition(":")
    if not (colon and place and attribute):
        raise LogicgenError(f"{name}: write it as MODULE:FUNCTION or FILE.py:FUNCTION")
    try:
        if place.endswith(".py"):
            # No module has this name, so a file called `random.py` replaces no module.
            spec = spec_from_file_location("audited file", place)
            assert spec is not None
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[spec.name] = module  # Python needs this for dataclasses
            sys.path.insert(0, str(Path(place).parent))  # the file may import its neighbours
            spec.loader.exec_module(module)
        else:
            sys.path.insert(0, "")  # also find modules in the current folder, as `python -m` does
            module = import_module(place)
    except (Exception, SystemExit) as error:
        line = f"{type(error).__name__}: {error}".partition("\n")[0]
        remedy = "check the name, and run logicgen in a folder from which Python can import it"
        raise LogicgenError(f"{place}: cannot be imported: {line}; {remedy}") from error
    if not hasattr(module, attribute):
        raise LogicgenError(f"{place}: has no function {attribute}: check the name after the colon")
    return getattr(module, attribute)
