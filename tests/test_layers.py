"""The layer rule of docs/design.md: which package may import which, and no circle of imports.

Every import counts, also those inside functions and those for type checking alone.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import logicgen

ROOT = Path(logicgen.__file__).parent

# Modules of the root, known to all, which know nothing but each other.
ROOT_MODULES = {"callbacks", "errors", "extras", "files", "recipes", "tokens"}
# Packages that stand beside the line, and what they may know besides the root.
BESIDE = {"automata": set(), "productions": {"automata"}, "nn": set()}
# Packages that only what stands at the end of the line imports, and the last that they may know.
APART = {"integrations": "data"}
END = {"library", "cli"}
# A package may import those before it in the line, and those beside it.
LINE = [
    "processes",
    "syntax",
    "solvers",
    "tasks",
    "scoring",
    "data",
    "model",
    "training",
    "report",
    "measures",
    "experiments",
    "study",
    "library",
    "cli",
]


def module(path: Path) -> str:
    """The dotted name of a file."""
    return ".".join(["logicgen", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(
        ".__init__"
    )


MODULES = {module(path): path for path in ROOT.rglob("*.py")}


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in inner}
    return {name for name in found if name.split(".")[0] == "logicgen"} & set(MODULES)


GRAPH = {name: imports(path) for name, path in MODULES.items()}


def package(name: str) -> str:
    """The package of a module, or the module of the root; empty for the package itself."""
    return name.split(".")[1] if "." in name else ""


def may_know(name: str) -> set[str]:
    """The packages and modules of the root that one may import."""
    if name in ROOT_MODULES:
        return ROOT_MODULES
    if name in BESIDE:
        return ROOT_MODULES | BESIDE[name] | {name}
    if name in LINE:
        apart = set(APART) if name in END else set()
        return ROOT_MODULES | set(BESIDE) | set(LINE[: LINE.index(name) + 1]) | apart
    if name in APART:
        return ROOT_MODULES | set(BESIDE) | set(LINE[: LINE.index(APART[name]) + 1]) | {name}
    return ROOT_MODULES | set(BESIDE) | set(LINE)  # the package's own functions


def test_every_package_has_its_place() -> None:
    assert {package(name) for name in MODULES} == ROOT_MODULES | set(BESIDE) | set(LINE) | set(
        APART
    ) | {""}


def test_every_package_is_in_the_wheel() -> None:
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))
    listed = {each for each in project["tool"]["setuptools"]["packages"] if "declara" not in each}
    assert listed == {name for name, path in MODULES.items() if path.stem == "__init__"}


def test_packages_import_only_what_stands_before_them() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, others in GRAPH.items()
        for other in others
        if package(other) not in may_know(package(name)) and other != "logicgen"
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_nobody_imports_the_package_itself_but_the_command_line() -> None:
    inside = [name for name, others in GRAPH.items() if "logicgen" in others]
    assert set(inside) <= {"logicgen.cli.group"}, inside


def test_commands_call_the_library() -> None:
    """A command parses options, calls functions of the library, and prints."""
    known = {"cli", "library", "errors", "extras", ""}
    below = {
        name.rpartition(".")[2]
        for name, others in GRAPH.items()
        if package(name) == "cli" and {package(other) for other in others} - known
    }
    assert below == {"demo", "main", "options"}


def test_there_is_no_circle() -> None:
    state: dict[str, int] = {}
    path: list[str] = []
    circles: list[str] = []

    def visit(name: str) -> None:
        state[name] = 1
        path.append(name)
        for other in sorted(GRAPH[name]):
            if state.get(other) == 1:
                circles.append(" -> ".join([*path[path.index(other) :], other]))
            elif other not in state:
                visit(other)
        path.pop()
        state[name] = 2

    for name in sorted(GRAPH):
        if name not in state:
            visit(name)
    assert not circles, "\n".join(circles)


# Modules of one name that are the same thing in two packages.
SHARED = {
    "__init__",
    "audit",
    "judge",  # judging an item, and its commands
    "collapse",
    "compare",
    "covariance",
    "data",  # what is done with data, as functions and as commands
    "export",
    "generate",
    "grammar",  # a grammar, and its commands
    "language_model",
    "plan",  # of a data set, and of a study
    "probe",
    "prompts",  # of problems, and of whole data sets
    "recipe",  # of data, and of models
    "suite",  # of problems, and its commands
    "symbol_invariant",
    "worker",  # that serves a pool, and that runs trials
    "tightness",  # of automata, and of trained language models
}


def test_a_name_of_a_module_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        places.setdefault(path.stem, []).append(name)
    shared = {stem: names for stem, names in places.items() if len(names) > 1}
    assert set(shared) <= SHARED, shared


# Nouns, and methods of the field, that end as participles do.
ADJECTIVES = {"AlphaRenaming", "Answering", "Copying", "Embedding", "Encoding", "Finding"}
ADJECTIVES |= {"GrowingRagged", "Learned", "Listing", "Naming", "Packing", "Prompting", "Ragged"}
ADJECTIVES |= {"DecoderTraining", "Ranking", "Reading", "Sampling", "Settling", "Training"}
ADJECTIVES |= {"Terminated", "Unfolding", "Wording", "Rounding"}


def test_a_name_of_a_class_means_one_thing_and_is_a_noun() -> None:
    places: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(name)
    assert not {name: modules for name, modules in places.items() if len(modules) > 1}
    participles = {name for name in places if name.endswith(("ed", "ing"))}
    assert participles <= ADJECTIVES, participles - ADJECTIVES
