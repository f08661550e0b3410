"""Promises of the house: locked requirements, one test command, a safe docker-compose file."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab import targets
from benchlab.cli.main import COMMANDS
from benchlab.targets.local import TOOLS
from tests import layers

ROOT = Path(__file__).parents[2]
LOCKED = ("requirements", "requirements-celery", "requirements-logins", "requirements-dev")
COMPOSE_FILE = ROOT / "docker-compose.yaml"


def test_tests_run_in_the_background_as_in_front() -> None:
    """A shell has its background jobs ignore Ctrl-C, and whatever they start ignores it then."""
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import subprocess, sys, tests.conftest\n"
        "show = 'import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)'\n"
        "subprocess.run([sys.executable, '-c', show], check=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


# Where docker-compose may differ from `make up`; every other option is the same in both.
ONLY_IN_CONTAINERS = {
    # Paths in the image, and the API server's name on the containers' network.
    "AIRFLOW__CORE__DAGS_FOLDER",
    "AIRFLOW__CORE__PLUGINS_FOLDER",
    "AIRFLOW__CORE__EXECUTION_API_SERVER_URL",
    # Known to `make up` once it has a port.
    "AIRFLOW__API__BASE_URL",
    # Secrets are mounted files; `make up` has them, and its database, in airflow.cfg.
    "AIRFLOW__CORE__FERNET_KEY_CMD",
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD",
    "AIRFLOW__API_AUTH__JWT_SECRET_CMD",
    "AIRFLOW__API__SECRET_KEY_CMD",
    # Every address of its container, of which docker publishes one port on loopback.
    "AIRFLOW__API__HOST",
}
ADDRESSES = {"AIRFLOW__CORE__EXECUTION_API_SERVER_URL", "AIRFLOW__API__BASE_URL"}
NOT_IN_CONTAINERS = {
    "AIRFLOW__API__HOST",
    # An argument of the API server's command.
    "AIRFLOW__API__WORKERS",
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """docker-compose.yaml as it is written."""
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE_FILE.read_text())
    return loaded


# ---------------------------------------------------------------- requirements


@pytest.mark.parametrize("name", LOCKED)
def test_every_requirement_is_pinned_and_hashed(name: str) -> None:
    """Nothing is installed that could be something else tomorrow."""
    text = (ROOT / f"{name}.txt").read_text().replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line and line[0] not in "# "]
    assert entries
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._-]+(\[[a-z,-]+\])?==\S+ ", entry), entry
        assert "--hash=sha256:" in entry, entry


@pytest.mark.parametrize("name", LOCKED)
def test_every_requirement_that_is_asked_for_is_locked(name: str) -> None:
    """requirements*.in and requirements*.txt were not edited apart."""
    wanted = {
        _normal(match[0])
        for line in (ROOT / f"{name}.in").read_text().splitlines()
        if (match := re.match(r"[A-Za-z0-9._-]+", line)) and not line.startswith("-")
    }
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / f"{name}.txt").read_text(), re.MULTILINE)
    assert wanted <= {_normal(one) for one in pinned}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("more", LOCKED[1:])
def test_shared_requirements_have_one_version(more: str) -> None:
    """The tests, logins and a team's workers run on the same packages as the users."""
    pins = [
        set(re.findall(r"^(\S+==\S+.*?) *\\$", (ROOT / f"{name}.txt").read_text(), re.MULTILINE))
        for name in (LOCKED[0], more)
    ]
    by_name = [{pin.split("==")[0] for pin in side} for side in pins]
    shared = by_name[0] & by_name[1]
    assert shared
    for name in shared:
        versions = [
            {p.split(";")[0].strip() for p in side if p.split("==")[0] == name} for side in pins
        ]
        assert versions[1] <= versions[0]


def test_the_debian_packages_have_what_a_campaign_needs() -> None:
    """What `register` would miss, `make setup` and the image install."""
    essential = {"util-linux"}  # on every Debian and Ubuntu
    lines = (ROOT / "requirements-debian.txt").read_text().splitlines()
    entries = [entry for line in lines if (entry := line.partition("#")[0].strip())]
    installed = {name for one in entries if one[0] != "?" for name in one.split("|")}
    assert set(TOOLS.values()) - essential <= installed


# ---------------------------------------------------------------- commands


def test_ci_runs_the_command_of_the_readme() -> None:
    """CI runs what a newcomer is told to run, and nothing else."""
    commands = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if re.match(r"\s*(exec )?make\b", line)
    ]
    assert commands == ["exec make test </dev/null"]
    assert re.search(r"^ *make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("script", [*(ROOT / "bin").iterdir(), ROOT / ".ci" / "run"], ids=str)
def test_scripts_are_executable(script: Path) -> None:
    """A clone can run them."""
    assert script.stat().st_mode & stat.S_IXUSR


def test_make_lists_its_commands() -> None:
    """`make` alone says what there is."""
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("setup", "demo", "up", "down", "test", "check", "format", "lock", "bench"):
        assert re.search(rf"^  make {target} +\S", listed, re.MULTILINE), target


def test_setup_names_what_is_wrong_with_an_old_python(tmp_path: Path) -> None:
    """A machine with Python 3.10 gets a sentence, before anything is installed."""
    old = tmp_path / "python3.10"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo Python 3.10.12 && exit\nexit 1\n')
    old.chmod(0o755)
    checkout = _checkout(tmp_path)
    done = subprocess.run(
        ["bin/setup", "packages", "requirements"],
        cwd=checkout,
        env={**os.environ, "PYTHON": str(old)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "Python 3.10.12" in done.stderr
    assert not (checkout / ".venv").exists()


def test_setup_refuses_an_unknown_step(tmp_path: Path) -> None:
    """A misspelt step is an error, not a silent success."""
    done = subprocess.run(
        ["bin/setup", "package"],
        cwd=_checkout(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert 'no step "package"' in done.stderr


def _checkout(tmp_path: Path) -> Path:
    """A folder with what bin/setup reads, away from the checkout that is in use."""
    checkout = tmp_path / "checkout"
    (checkout / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "bin" / "setup", checkout / "bin" / "setup")
    for path in ROOT.glob("requirements*.txt"):
        shutil.copy(path, checkout)
    return checkout


def test_the_summary_counts_over_all_layers() -> None:
    """CI reads the last line: it must hold every layer's failures, not the last layer's."""
    outcomes = [
        layers.Outcome("core", 1.0, passed=3),
        layers.Outcome("airflow", 2.0, passed=1, failed=1, culprits=["FAILED tests.airflow::t"]),
        layers.Outcome("browser", 3.5, skipped=2),
    ]
    lines = layers.summary(outcomes).splitlines()
    assert lines[-1].strip("= ") == "1 failed, 4 passed, 2 skipped in 6.50s"
    assert "FAILED tests.airflow::t" in lines


# ---------------------------------------------------------------- documents

PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / ".github").rglob("*.md"),
    ROOT / "tests/hosts/README.md",
]


def _anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes anchors of them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_documents_lead_somewhere(page: Path) -> None:
    """To a file of the checkout, and to a heading that it has."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_name_commands_that_there_are(page: Path) -> None:
    """Of `make` and of `benchlab`."""
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = {name for module in COMMANDS.values() for name in module}
    assert set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", text, re.MULTILINE)) <= targets
    said = r"(?:^ {4}|`)(?:\.venv/bin/)?benchlab ([a-z][a-z-]+)"
    assert set(re.findall(said, text, re.MULTILINE)) <= commands


def test_the_page_on_where_to_change_what_names_files_that_there_are() -> None:
    """Below the core, or below the checkout."""
    text = (ROOT / "docs/WHERE.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([\w./-]+/[\w.-]*)`", text):
        assert (ROOT / name).exists() or (ROOT / "include/benchlab" / name).exists(), name


# ---------------------------------------------------------------- the core


def test_the_core_imports_no_airflow() -> None:
    """The library and CLI work where Airflow is not installed."""
    program = (
        "import importlib, pkgutil, sys, benchlab\n"
        "for module in pkgutil.walk_packages(benchlab.__path__, 'benchlab.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "print([m for m in sys.modules if m.split('.')[0].startswith('airflow')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_importing_the_core_is_quick() -> None:
    """Heavy packages are imported where they are used: a DAG file imports the core."""
    program = (
        "import sys, benchlab.plan.report_type, benchlab.plan.plan\n"
        "print(sorted({'pandas', 'numpy', 'scipy', 'great_expectations', 'boto3'}"
        " & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- docker-compose.yaml


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="there is no docker-compose")
def test_docker_compose_accepts_the_file() -> None:
    """Valid without any variable set and before any secret was made."""
    bare = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    done = subprocess.run(
        ["docker-compose", "--file", str(COMPOSE_FILE), "config", "--quiet"],
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_services_are_published_on_loopback_only(compose: dict[str, Any]) -> None:
    """Nobody else on the network reaches Airflow or a database."""
    published = [port for one in compose["services"].values() for port in one.get("ports", [])]
    assert published
    assert all(str(port).startswith("127.0.0.1:") for port in published)
    assert not any(one.get("network_mode") == "host" for one in compose["services"].values())


def test_every_service_has_a_health_check(compose: dict[str, Any]) -> None:
    """`docker-compose ps` tells what is broken."""
    for name, service in compose["services"].items():
        assert service.get("healthcheck", {}).get("test"), name


def test_what_is_mounted_exists_and_lies_where_the_image_has_it(compose: dict[str, Any]) -> None:
    """A folder of the checkout takes the place of its copy in the image; a volume is declared."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    (image,) = re.findall(r"^WORKDIR (\S+)", dockerfile, re.MULTILINE)
    copied = (ROOT / ".dockerignore").read_text().splitlines()
    mounted = [
        mount for one in compose["services"].values() for mount in one.get("volumes", []) if mount
    ]
    assert len(mounted) > 10
    for source, target, *mode in (mount.split(":") for mount in mounted):
        if source.startswith("./"):
            assert (ROOT / source).is_dir(), source
            assert f"!{source[2:]}" in copied, source
            assert (target, mode) == (f"{image}/{source[2:]}", ["ro"])
        else:
            assert source in compose["volumes"], source
    for name in re.findall(r'"(bin/[a-z-]+)"', json.dumps(compose["services"])):
        assert os.access(ROOT / name, os.X_OK), name


def test_the_page_has_the_reports_that_the_scheduler_writes(compose: dict[str, Any]) -> None:
    """Both have Benchlab's home of the image on the same volume, and reports lead to the page."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    (home,) = re.findall(r"BENCHLAB_HOME=(\S+)", dockerfile)
    services = compose["services"]
    homes = [
        [mount for mount in services[name]["volumes"] if mount.split(":")[1:] == [home]]
        for name in ("api-server", "scheduler")
    ]
    assert homes[0] == homes[1] != []
    address = services["scheduler"]["environment"]["AIRFLOW__API__BASE_URL"]
    published = services["api-server"]["ports"][0].rpartition(":")[0]
    assert address == f"http://{published}"


def test_images_are_pinned(compose: dict[str, Any]) -> None:
    """Every image has a full version, and ours is this version of Benchlab."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    images = {service["image"] for service in compose["services"].values()}
    assert f"benchlab:{version}" in images
    base = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert base
    for image in [*images, *base]:
        assert re.search(r":\d+\.\d+", image), image


def test_no_secret_stands_in_the_compose_file(compose: dict[str, Any]) -> None:
    """Secrets come from files; nothing has a default password."""
    for name, service in compose["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|KEY|TOKEN|CONN|_URL", key):
                from_file = str(value).removeprefix("cat ").startswith("/run/secrets/")
                plain = key in ADDRESSES
                own_copy = key == "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"
                assert from_file or plain or own_copy, f"{name}: {key}"
            assert not re.search(r"://[^/\s]*:[^/\s]*@", str(value)), f"{name}: {key}"
    assert all(set(secret) == {"file"} for secret in compose["secrets"].values())
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert "secrets/" in ignored
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"


def test_every_secret_is_mounted_declared_and_made(compose: dict[str, Any], tmp_path: Path) -> None:
    """`bin/make-secrets` makes what the services mount, and what they read they mount."""
    made = _make_secrets(tmp_path)
    declared = {name: Path(one["file"]).name for name, one in compose["secrets"].items()}
    assert set(declared.values()) == {path.name for path in made.iterdir()}
    for name, service in compose["services"].items():
        read = set(re.findall(r"/run/secrets/(\w+)", json.dumps(service)))
        assert read <= set(service.get("secrets", [])), name
        assert set(service.get("secrets", [])) <= set(declared), name


def test_secrets_are_random_private_and_kept(tmp_path: Path) -> None:
    """A second run changes nothing; another machine gets other secrets."""
    folder = _make_secrets(tmp_path / "a")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert {
        path.name: path.read_text() for path in _make_secrets(tmp_path / "a").iterdir()
    } == before
    other = {path.name: path.read_text() for path in _make_secrets(tmp_path / "b").iterdir()}
    assert not set(before.values()) & set(other.values())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert set(json.loads(before["airflow_passwords"])) == {"admin"}


def _make_secrets(checkout: Path) -> Path:
    (checkout / "bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "bin" / "make-secrets", checkout / "bin")
    subprocess.run(["bin/make-secrets"], cwd=checkout, check=True, capture_output=True)
    return checkout / "secrets"


def test_the_entry_point_hands_secrets_over(tmp_path: Path) -> None:
    """Airflow's password file is a copy that only its owner reads; no secret is a variable."""
    (tmp_path / "store_url").write_text("mysql+pymysql://benchlab:secret@mysql/benchlab")
    (tmp_path / "passwords").write_text('{"admin": "secret"}')
    copy = tmp_path / "copy" / "airflow_passwords"
    done = subprocess.run(
        [str(ROOT / "bin" / "container"), "env"],
        env={
            "PATH": os.environ["PATH"],
            "BENCHLAB_STORE_URL_FILE": str(tmp_path / "store_url"),
            "BENCHLAB_AIRFLOW_PASSWORDS_FILE": str(tmp_path / "passwords"),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(copy),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert "secret" not in done.stdout.replace(str(tmp_path), "")
    assert f"BENCHLAB_STORE_URL_FILE={tmp_path}/store_url" in done.stdout.splitlines()
    assert json.loads(copy.read_text()) == {"admin": "secret"}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_compose_configures_airflow_as_make_up_does(compose: dict[str, Any]) -> None:
    """The same options with the same values, but for what containers need otherwise."""
    from benchlab_airflow.local.airflow_home import SETTINGS

    ours = {
        f"AIRFLOW__{section.upper()}__{option.upper()}": value
        for section, options in SETTINGS.items()
        for option, value in options.items()
    }
    server = compose["services"]["api-server"]
    assert server["command"][-2:] == ["--workers", SETTINGS["api"]["workers"]]
    expected = {key: value for key, value in ours.items() if key not in NOT_IN_CONTAINERS}
    for name in ("api-server", "scheduler", "dag-processor", "triggerer", "airflow-init"):
        theirs = {
            key: str(value)
            for key, value in compose["services"][name]["environment"].items()
            if key.startswith("AIRFLOW__") and key not in ONLY_IN_CONTAINERS
        }
        assert theirs == expected, name
    assert set(server["environment"]) >= ONLY_IN_CONTAINERS
    assert set(ours) >= NOT_IN_CONTAINERS


def test_compose_names_options_that_airflow_has(compose: dict[str, Any], tmp_path: Path) -> None:
    """A misspelt option would be ignored without a word."""
    program = (
        "import json\n"
        "from airflow.configuration import conf\n"
        "sections = conf.configuration_description\n"
        "print(json.dumps({name: list(one['options']) for name, one in sections.items()}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    known = json.loads(done.stdout.splitlines()[-1])
    for service in compose["services"].values():
        for key in service.get("environment", {}):
            if key.startswith("AIRFLOW__"):
                _, section, option = key.lower().split("__")
                assert option.removesuffix("_cmd") in known[section], key


# ---------------------------------------------------------------- health checks


class _Monitor(BaseHTTPRequestHandler):
    """Answers as Airflow's /api/v2/monitor/health does, with a dead triggerer."""

    def do_GET(self) -> None:
        states = {
            "metadatabase": "healthy",
            "scheduler": "healthy",
            "dag_processor": None,
            "triggerer": "unhealthy",
        }
        body = json.dumps({name: {"status": state} for name, state in states.items()}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is http.server's)
        """Keep quiet."""


@pytest.fixture
def monitor() -> Iterator[str]:
    """The address of a stand-in for the API server."""
    with HTTPServer(("127.0.0.1", 0), _Monitor) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("component", "code"),
    [("api-server", 0), ("scheduler", 0), ("dag-processor", 1), ("triggerer", 1)],
)
def test_health_is_what_airflow_says_of_the_component(
    monitor: str, component: str, code: int
) -> None:
    """A component without a heartbeat is not healthy."""
    command = [sys.executable, str(ROOT / "bin" / "health"), component, monitor]
    assert subprocess.run(command, check=False, capture_output=True).returncode == code


def test_no_answer_is_not_healthy() -> None:
    """The reason is printed, not a traceback: `docker inspect` shows it."""
    command = [sys.executable, str(ROOT / "bin" / "health"), "scheduler", "http://127.0.0.1:9"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "does not answer" in done.stdout
    assert "Traceback" not in done.stderr


def test_no_target_is_named_outside_targets() -> None:
    """What a target can do is asked of its capabilities, so that a new one is one module."""
    names = "|".join(targets.by_name())
    compared = re.compile(rf"\btarget (?:==|!=|in|not in) [(\[{{]?[\"'](?:{names})[\"']")
    found = [
        f"{path}: {line.strip()}"
        for root in ("include/benchlab", "plugins", "dags")
        for path in (ROOT / root).rglob("*.py")
        if "benchlab/targets/" not in path.as_posix()
        for line in path.read_text(encoding="utf-8").splitlines()
        if compared.search(line)
    ]
    assert found == []


def test_what_a_plan_follows_from_is_read_in_one_place() -> None:
    """A plan is made of a `Resolved`, and only the resolver makes one."""
    found = [
        path.name
        for path in (ROOT / "include").rglob("*.py")
        if re.search(r"\bResolved\(\s*\n?\s*\w", path.read_text(encoding="utf-8"))
        and path.name != "resolved.py"
    ]
    assert found == ["resolving.py"]
