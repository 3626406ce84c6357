"""From arrays of token ids to numbers and pictures: solver-verified scores."""

import sys

from logicgen.callable_room import CallableRoom

sys.modules[__name__].__class__ = CallableRoom
