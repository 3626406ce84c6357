"""Settings of all tests."""

import os

# Tests run in as many processes as there are cores: more threads only wait for each other.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from hypothesis import settings  # noqa: E402

# How long an example takes depends on what else the machine does.
settings.register_profile("logicgen", deadline=None)
settings.load_profile("logicgen")
