"""Published experiments: what is specific to each, one file each; `logicgen study` runs them."""
