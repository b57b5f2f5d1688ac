"""A package without plugins, in the place of the built-in ones."""
