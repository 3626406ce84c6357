"""Adapters: what other packages call to have completions of logicgen's problems judged."""
