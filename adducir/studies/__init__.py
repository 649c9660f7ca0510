"""The studies: a package per paper, with what only that study has. The engine imports none."""
