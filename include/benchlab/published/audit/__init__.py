"""What is wrong in published pages; each module ``check_*.py`` holds related checks."""
