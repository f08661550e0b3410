"""Properties have no time limits of their own: a busy machine is no fault of what is tested."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("benchlab", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("benchlab")
