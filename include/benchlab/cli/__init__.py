"""The command line ``benchlab``: one module for each group of commands.

A command's docstring is its help text.
"""
