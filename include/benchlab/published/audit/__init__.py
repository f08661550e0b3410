"""What is wrong in published pages: a module ``check_*.py`` is a family of checks."""
