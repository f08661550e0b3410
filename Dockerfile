# Benchlab with Airflow 3.3, from the locked requirements; docker-compose.yaml builds and runs it.
FROM python:3.11.13-slim-bookworm

ENV PATH=/opt/benchlab/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    BENCHLAB_PROJECT=/opt/benchlab \
    BENCHLAB_HOME=/opt/benchlab/.benchlab \
    AIRFLOW_HOME=/opt/benchlab/.benchlab/airflow \
    TIUP_HOME=/opt/benchlab/.benchlab/tiup

WORKDIR /opt/benchlab

# From what changes least to what changes most, so that an edit rebuilds little.
COPY bin/setup bin/setup
COPY requirements-debian.txt ./
# This image brings its own Python.
RUN sed -i '/^python3/d' requirements-debian.txt \
    && bin/setup packages \
    && rm -rf /var/lib/apt/lists/*

COPY requirements.txt requirements-celery.txt requirements-logins.txt ./
RUN bin/setup requirements celery-requirements logins && .venv/bin/uv cache clean && rm -rf /root/.cache

COPY . .
RUN bin/setup benchlab \
    && .venv/bin/python -m compileall -q dags include plugins \
    && useradd --uid 10001 --create-home benchlab \
    && rm -rf .benchlab/setup.lock .benchlab/logs \
    && install --directory --owner=benchlab --group=benchlab \
        .benchlab "$AIRFLOW_HOME" "$AIRFLOW_HOME/logs" /run/benchlab \
    && chown -R benchlab:benchlab .benchlab

USER 10001
ENTRYPOINT ["bin/container"]
CMD ["airflow", "version"]
