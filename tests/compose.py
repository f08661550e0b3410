"""Settings that docker-compose.yaml alone has: those of workers on several machines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[1] / "docker-compose.yaml"
CELERY = (
    "AIRFLOW__CELERY__",
    "AIRFLOW__CELERY_BROKER_TRANSPORT_OPTIONS__",
    "AIRFLOW__OPERATORS__DEFAULT_QUEUE",
    "AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT",
    "AIRFLOW__EXECUTION_API__JWT_EXPIRATION_TIME",
)


def compose() -> dict[str, Any]:
    """The file without any variable set, with the services of every profile."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", FILE.read_text())
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def celery_settings() -> dict[str, str]:
    """Those that CeleryExecutor needs, as variables; without the address of its queue."""
    environment = compose()["services"]["scheduler"]["environment"]
    return {
        name: str(value)
        for name, value in environment.items()
        if name.startswith(CELERY) and not name.endswith("_CMD")
    }
