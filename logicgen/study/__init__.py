"""Many trainings that differ in a few keys: planned, run side by side, and set in one table."""
