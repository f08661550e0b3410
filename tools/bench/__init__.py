"""Benchlab's own speed, measured: ``python -m tools.bench``; docs/SPEED.md has the targets."""
