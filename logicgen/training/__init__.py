"""Fitting a model to a data set; checkpoints."""
