"""What the integration tests run on: real servers in a home of their own."""

from tests.machine import machine, servers

__all__ = ["machine", "servers"]
