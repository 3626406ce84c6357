"""Adapters: other packages call them to judge completions of logicgen's problems."""
