"""From arrays of token ids to numbers and pictures: solver-verified scores."""
