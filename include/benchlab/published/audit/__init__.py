"""Finds errors in published pages; each module ``check_*.py`` holds related checks."""
