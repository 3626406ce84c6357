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

    from logicgen.solvers import solver_facts, solver_plugins

    put(f"python     {platform.python_version()} on {platform.platform()}")
    for package in ("logicgen", "torch", "lightning", "python-sat", "lark", "pyarrow", "sympy"):
        try:
            put(f"{package:<10} {version(package)}")
        except PackageNotFoundError:
            put(f"{package:<10} missing: pip install {package}")
    import torch

    put(f"cpu        {os.cpu_count()} cores, torch uses {torch.get_num_threads()} threads")
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            put(f"cuda:{number}     {torch.cuda.get_device_name(number)}")
    else:
        put("cuda       no device (needs a CUDA build of torch and a driver); the CPU is used")
    for name in solver_plugins():
        put(f"solver     {name}: {solver_facts(name).state}")
