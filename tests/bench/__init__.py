"""Benchlab's own speed, measured: ``python -m tests.bench``; docs/SPEED.md says what and how."""
