"""The commands of `logicgen`. They read options, call `logicgen.library`, and print results."""
