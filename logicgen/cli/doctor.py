"""`logicgen doctor`."""

from __future__ import annotations

import click

from logicgen.cli.terminal import put


@click.command("doctor")
def command() -> None:
    """Show versions, devices and which solvers can run, with what to install for the others."""
    import os
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from logicgen.extras import EXTRAS
    from logicgen.library import solver_states

    put(f"python      {platform.python_version()} on {platform.platform()}")
    for package in ("logicgen", "python-sat", "lark", "pyarrow", *EXTRAS):
        try:
            put(f"{package:<11} {version(package)}")
        except PackageNotFoundError:
            extra = f"logicgen[{EXTRAS[package]}]" if package in EXTRAS else package
            put(f"{package:<11} missing: pip install '{extra}'")
    put(f"cpu         {os.cpu_count()} cores")
    _devices()
    for name, state in solver_states().items():
        put(f"solver      {name}: {state}")


def _devices() -> None:
    """Say on what torch would compute; nothing without it."""
    try:
        import torch
    except ModuleNotFoundError:
        return
    from logicgen.library import number_formats

    put(f"threads     torch uses {torch.get_num_threads()}")
    instructions, fast = number_formats()
    names = ", ".join(instructions) or "no instructions for it"
    put(f"bfloat16    {'' if fast else 'not '}faster than float32 on this CPU ({names})")
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            put(f"cuda:{number}      {torch.cuda.get_device_name(number)}")
    else:
        put("cuda        no device (needs a CUDA build of torch and a driver); the CPU is used")
