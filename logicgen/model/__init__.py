"""Models: recipes, the interface of a model, its kinds, and checkpoints."""
