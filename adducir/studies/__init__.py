"""The studies: a package per paper with what only that study needs; not imported by the engine."""
