"""Settings of all tests."""

from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("logicgen", deadline=None)
settings.load_profile("logicgen")
