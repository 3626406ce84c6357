"""Adapters through which other packages judge completions of logicgen's problems."""
