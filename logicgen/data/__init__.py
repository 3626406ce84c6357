"""From a recipe to shards of verified examples, and from shards to batches."""
