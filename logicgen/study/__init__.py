"""Studies: plan trainings that differ in a few keys, run them in parallel, and make one table."""
