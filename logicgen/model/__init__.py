"""Models: one recipe, one protocol of a trained model, checkpoints."""
