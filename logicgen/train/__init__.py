"""Fitting a model to a data set; checkpoints."""

import sys

from logicgen.callable_room import CallableRoom

sys.modules[__name__].__class__ = CallableRoom
