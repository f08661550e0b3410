"""What holds for all tests: Ctrl-C ends a program, and properties have no time limits of their own.

A busy machine is no fault of what is tested.
"""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("benchlab", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("benchlab")
# A shell's background job ignores it, and so would all programs that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
