"""Finds the release that brought a change, by campaigns between two releases."""
