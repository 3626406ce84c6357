"""The long campaign: `python -m tests.reliability.fuzz --minutes 30`, which is `make fuzz`.

Parts run in processes of their own, two at a time, so that one that crashes is a finding and the
others go on. What was tried, with which seeds, and what was found goes to `build/fuzz.json`. The
exit status is 1 where something was found.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from tests.reliability.scene import SCENES
from tests.scoring.fuzzed import MODES, PROBLEMS

CORES = 2
MOMENTS = 20  # of each signal, in each scene
FORMULAS = 50_000  # of satisfiability, and as many of traces; propositional ones beside them
COMPLETIONS = 100_000
EXCLUSIONS = 200_000
ROUND = 2500  # formulas between two looks at the clock

Result = dict[str, Any]
Function = Callable[[float, int], Result]


@dataclass(frozen=True)
class Part:
    """A part of the campaign: its share of the time, and what does it in about so many seconds."""

    name: str
    share: float
    function: Function


def numbered(wrong: list[str]) -> Result:
    """Return what went wrong, as failures by number."""
    return {str(number): each for number, each in enumerate(wrong)}


def readers(name: str, seconds: float, seed: int) -> Result:
    """Search for inputs that break a reader."""
    from tests.reliability.target import search
    from tests.reliability.test_readers import TARGETS

    (target,) = (target for target in TARGETS if target.name == name)
    return search(target, seconds, Random(seed)).as_dict()


def coverage(seconds: float, seed: int) -> Result:
    """Search with Atheris, where it is installed."""
    if find_spec("atheris") is None:
        return {"skipped": "atheris is not installed: pip install '.[fuzz]'"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "found.json")
        command = [sys.executable, "-m", "tests.reliability.coverage_guided", str(seconds), out]
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if not out.exists():
            failure = f"status {ended.returncode}: {ended.stderr[-2000:]}"
            return {"failures": {"atheris ended": failure}}
        targets = json.loads(out.read_text())
    failures = {
        f"{each['target']}: {place}": shown
        for each in targets
        for place, shown in each["failures"].items()
    }
    inputs = {each["target"]: each["inputs"] for each in targets}
    return {"inputs": sum(inputs.values()), "by_target": inputs, "failures": failures}


def solvers(name: str, most: int, seconds: float, seed: int) -> Result:
    """Compare two solvers, in rounds with seeds of their own."""
    from tests.reliability import cross_check

    compare = getattr(cross_check, name)
    rng, rounds = Random(seed), []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and len(rounds) * ROUND < most:
        rounds.append(compare(ROUND, rng.getrandbits(32)).as_dict())
    found = {
        key: [line for each in rounds for line in each[key]]
        for key in ("first_wrong", "second_wrong", "undecided")
    }
    sums = {
        key: sum(each[key] for each in rounds) for key in ("formulas", "unknown", "disagreements")
    }
    failures = {line: key for key in ("first_wrong", "undecided") for line in found[key]}
    seeds = [each["seed"] for each in rounds]
    return {"inputs": sums["formulas"], **sums, **found, "seeds": seeds, "failures": failures}


def disturbances(name: str, seconds: float, seed: int) -> Result:
    """Kill a command at random moments, fill its disk, and take its right to write."""
    from tests.reliability.disturbance import LIMITS, SIGNALS, full_disk, killed, read_only
    from tests.reliability.scene import Stage

    (scene,) = (scene for scene in SCENES if scene.name == name)
    rng, kills = Random(seed), 0
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="logicgen-reliability-") as folder:
        Path(folder).chmod(0o755)
        stage = Stage(Path(folder, name), scene)
        wrong += read_only(stage)
        for limit in LIMITS:
            wrong += full_disk(stage, limit)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and kills < MOMENTS * len(SIGNALS):
            numbers = list(SIGNALS)
            rng.shuffle(numbers)
            wrong += killed(stage, numbers, rng)
            kills += len(numbers)
    return {"inputs": kills, "disks": len(LIMITS) + 1, "failures": numbered(wrong)}


def full_disks(seconds: float, seed: int) -> Result:
    """Play scenes on a disk that is full, in turn, where one can be mounted."""
    from tests.reliability.disturbance import ROOMS, full, mounted

    wrong: list[str] = []
    played = 0
    ends = time.monotonic() + seconds
    with mounted() as disk:
        if disk is None:
            return {"skipped": "no disk can be mounted here"}
        for scene in SCENES:
            if time.monotonic() < ends:
                wrong += full(scene, disk)
                played += len(ROOMS)
    return {"inputs": played, "failures": numbered(wrong)}


def completions(seconds: float, seed: int) -> Result:
    """Judge what a mad model may write."""
    from tests.scoring.fuzzed import through_scorers

    return through_scorers(seconds, COMPLETIONS, seed)


def rewards(task: str, mode: str, seconds: float, seed: int) -> Result:
    """Search for a completion that is paid and should not be; a third of the time for each check.

    One part tries whether problems that exclude each other are both paid, one compares our reader
    with an independent one, and one climbs to whatever is paid.
    """
    from tests.scoring import properties

    rng, third = Random(seed), seconds / 3
    found = {
        "exclusion": properties.exclusion(task, mode, rng, EXCLUSIONS, third),
        "readings": properties.readings(task, mode, rng, COMPLETIONS, third),
    }
    found["climb"] = properties.climb(task, mode, rng, third)
    failures = {line: why for each in found.values() for line, why in each.pop("failures").items()}
    return {"inputs": sum(each["inputs"] for each in found.values()), **found, "failures": failures}


def starts(seconds: float, seed: int) -> Result:
    """Send signals to commands that have just been started."""
    from tests.reliability.disturbance import interrupted_start

    rng, tried = Random(seed), 0
    wrong: list[str] = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        wrong += interrupted_start(rng)
        tried += 1
    return {"inputs": tried, "failures": numbered(wrong)}


def parts() -> list[Part]:
    """Return all parts; those that take longest come first."""
    from tests.reliability.test_readers import TARGETS

    found = [
        Part("storm-satisfiability", 6, partial(solvers, "ltl_satisfiability", FORMULAS)),
        Part("storm-traces", 6, partial(solvers, "ltl_checks", FORMULAS)),
        *(
            Part(f"kill-{s.name}", 6 if s.slow else 2, partial(disturbances, s.name))
            for s in SCENES
        ),
        Part("kill-start", 1, starts),
        Part("completions", 2, completions),
        *(
            Part(f"rewards-{task}-{mode}", 1, partial(rewards, task, mode))
            for task in PROBLEMS
            for mode in MODES
        ),
        Part("full-disks", 2, full_disks),
        Part("coverage-guided", 3, coverage),
        Part("propositional-solvers", 1, partial(solvers, "propositional_logic", 2 * FORMULAS)),
    ]
    # All readers together take a third.
    share = sum(part.share for part in found) / 2 / len(TARGETS)
    return found + [Part(each.name, share, partial(readers, each.name)) for each in TARGETS]


def in_process(name: str, seconds: float, seed: int) -> tuple[str, Result]:
    """Compute a part in a new process, return it by name; one that crashes is a finding."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "result.json")
        command = [sys.executable, "-m", "tests.reliability.fuzz", "--part", name]
        command += ["--seconds", str(seconds), "--seed", str(seed), "--out", str(out)]
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if out.exists():
            result: Result = json.loads(out.read_text())
        else:
            said = f"status {ended.returncode}: {ended.stderr[-3000:]}"
            result = {"failures": {"the process ended": said}}
    shown = f"{result.get('inputs', 0):>9,} inputs, {len(result.get('failures', ()))} failures"
    print(f"{name:<32} seed {seed:>10} {shown} {result.get('skipped', '')}".rstrip(), flush=True)
    return name, {"seed": seed, "seconds": round(seconds, 1), **result}


def main() -> int:
    """Run the campaign, or the one part that is named; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="of the whole [30]")
    parser.add_argument("--seed", type=int, help="of all seeds; a new one if not given")
    parser.add_argument("--only", default="", help="parts with this in their name")
    parser.add_argument("--out", type=Path, default=Path("build", "fuzz.json"))
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        # One that is told to end cleans up first: folders, disks, processes.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        (part,) = (part for part in parts() if part.name == given.part)
        given.out.write_text(json.dumps(part.function(given.seconds, given.seed)))
        return 0
    seed = SystemRandom().getrandbits(32) if given.seed is None else given.seed
    rng, start = Random(seed), time.time()
    chosen = [part for part in parts() if given.only in part.name]
    if not chosen:
        parser.error(f"--only {given.only}: no part has this in its name")
    a_share = given.minutes * 60 * CORES / sum(part.share for part in chosen)
    print(f"seed {seed}; {len(chosen)} parts, {given.minutes:g} minutes on {CORES} cores")
    jobs = [(part.name, part.share * a_share, rng.getrandbits(32)) for part in chosen]
    found: dict[str, Result] = {}
    with ThreadPoolExecutor(CORES) as pool:
        for done in as_completed(pool.submit(in_process, *job) for job in jobs):
            name, result = done.result()
            found[name] = result
            report = {
                "seed": seed,
                "minutes": round((time.time() - start) / 60, 1),
                "python": platform.python_version(),
                "inputs": sum(each.get("inputs", 0) for each in found.values()),
                "failures": sum(len(each.get("failures", ())) for each in found.values()),
                "parts": found,
            }
            # At once: a campaign that is broken off has a report of what is done.
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(json.dumps(report, indent=1) + "\n")
    for name, result in found.items():
        for place, shown in result.get("failures", {}).items():
            print(f"\n{name}: {place}\n  {shown}")
    print(f"\n{report['inputs']:,} inputs, {report['failures']} failures: {given.out}")
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
