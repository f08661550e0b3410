"""The command line ``benchlab``: one module for each group of commands."""
