"""A stand-in for AWS: EC2 with its habits and its faults, on a free port of this machine.

    with Cloud(folder) as cloud:
        cloud.fault("RunInstances", "InsufficientInstanceCapacity", zone="us-west-2a")
        fleet = provision(cloud.access(), ...)
        assert cloud.holdings() == NOTHING

It is a process of its own (:mod:`tests.hosts.cloud_server`), which others reach with
:attr:`Cloud.environment`. Given a network of hosts, every instance becomes one with a real sshd.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchlab.hosts.access import Access
from tests.hosts import first_boot, namespaces
from tests.hosts.namespaces import NamespaceHost, Namespaces

ROOT = Path(__file__).parents[2]
REGION = "us-west-2"
# The parameter under which Debian publishes its newest image.
PARAMETER = "/aws/service/debian/release/12/latest/amd64"
SPOT_ENDED = "Server.SpotInstanceTermination: Spot instance termination"
NOTHING: dict[str, list[str]] = {"instances": [], "keys": [], "groups": [], "volumes": []}
# boto's names of services, where IAM calls them otherwise.
IAM_NAMES = {"service-quotas": "servicequotas"}
LIMIT_S = 60.0


class Cloud:
    """AWS, for as long as the ``with`` block lasts.

    Args:
        folder: what the instances keep; created if it is missing.
        network: hosts become instances on its network; not entered or left here.
        region: where the network is the default VPC's; other regions work too, without hosts.
    """

    def __init__(
        self, folder: Path, network: Namespaces | None = None, region: str = REGION
    ) -> None:
        self.folder, self.network, self.region = folder, network, region
        self.recorded: set[str] = set()
        self._clients: dict[tuple[str, str], Any] = {}
        self._process: subprocess.Popen[str] | None = None
        self._listener: Listener | None = None
        self._key = secrets.token_bytes(16)
        self._guard = threading.Lock()
        self._closed = threading.Event()
        self._hosts: dict[str, NamespaceHost] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        arguments = [str(self.folder), self.region]
        if self.network is not None:
            # In no folder: the path of a socket has at most 107 bytes.
            address = f"\0benchlab-test-cloud-{os.getpid()}-{secrets.token_hex(4)}"
            self._listener = Listener(address, "AF_UNIX", backlog=32, authkey=self._key)
            threading.Thread(target=self._serve, daemon=True).start()
            arguments += [self.network.network, "@" + address[1:]]
        log = (self.folder / "cloud.log").open("w")
        with log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.hosts.cloud_server", *arguments],
                cwd=ROOT,
                env={
                    **first_boot.inherited(),
                    "BENCHLAB_TEST_CLOUD_KEY": self._key.hex(),
                    "MOTO_EC2_LOAD_DEFAULT_AMIS": "false",
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        port = self._process.stdout.readline().strip()
        if not port:
            raise AssertionError((self.folder / "cloud.log").read_text())
        self.endpoint = f"http://127.0.0.1:{port}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for client in self._clients.values():
            client.close()
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(LIMIT_S)
            self._process.stdout.close()
        if self._listener is not None:
            self._closed.set()
            self._listener.close()

    # ------------------------------------------------------------ as AWS

    @property
    def environment(self) -> dict[str, str]:
        """What another process needs to take this for AWS."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "not-a-secret",
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def client(self, service: str, region: str = "") -> Any:
        """A client for looking at what is there; its calls are not recorded."""
        return self._made(service, region or self.region, record=False)

    def access(self, account: str = "") -> Access:
        """What Benchlab is given; its calls are recorded in :attr:`recorded`, as IAM names them.

        Args:
            account: the id of an account that has nothing; empty: the one that has what is there.
        """

        def no_ssh(name: str) -> str:
            raise AssertionError(f"{name}: no SSH here")

        return Access(
            aws=lambda service, region: self._made(service, region, account, record=True),
            ssh_key=no_ssh,
        )

    def _made(self, service: str, region: str, account: str = "", *, record: bool) -> Any:
        import boto3
        from botocore.config import Config

        with self._guard:
            found = self._clients.get((f"{service} {record} {account}", region))
            if found is not None:
                return found
            client = boto3.client(
                service,
                region_name=region,
                endpoint_url=self.endpoint,
                aws_access_key_id=account or self.environment["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
                config=Config(retries={"mode": "standard", "max_attempts": 4}),
            )
            if record:
                client.meta.events.register("provide-client-params.*.*", self._record)
            self._clients[(f"{service} {record} {account}", region)] = client
            return client

    def _record(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        """Every IAM action that a call needs, those included that it needs by its arguments."""
        service = model.service_model.service_name
        self.recorded.add(f"{IAM_NAMES.get(service, service)}:{model.name}")
        if "TagSpecifications" in params:
            self.recorded.add("ec2:CreateTags")
        if "IamInstanceProfile" in params:
            self.recorded.add("iam:PassRole")

    # ------------------------------------------------------------ as an admin

    @property
    def image(self) -> str:
        """An image that is there."""
        return str(self._admin("GET", "_image"))

    def host(self, address: str) -> NamespaceHost:
        """The host that a living instance is."""
        return self._hosts[address]

    def fault(self, action: str, code: str, **fields: object) -> None:
        """Make calls fail.

        Args:
            action: ``RunInstances``.
            code: AWS's error code; ``lost``: the connection breaks; ``empty``: a listing without
                anything; ``html``: a proxy answers instead of AWS.
            fields: ``times`` (-1: always), ``zone`` (of RunInstances), ``region``, ``match`` (a
                part of the request), ``message``, ``after_success`` (the call takes effect).
        """
        self._admin("POST", "_faults", {"action": action, "code": code, **fields})

    def reset(self) -> None:
        """As it was in the beginning; for a cloud without hosts."""
        self._admin("POST", "_reset")
        self.recorded.clear()

    def heal(self) -> None:
        """No more faults."""
        self._admin("DELETE", "_faults")

    @contextmanager
    def without_faults(self) -> Iterator[None]:
        """The faults are put off, so that a test can look."""
        faults = self._admin("GET", "_faults")
        self.heal()
        yield
        for fault in faults:
            self._admin("POST", "_faults", fault)

    def boots(self, name: str, **fields: object) -> None:
        """How the host of this name boots: ``never=True``, or ``fail=[COMMAND, ...]``."""
        self._admin("POST", "_boots", {"name": name, **fields})

    def kill(self, instance: str, reason: str = "") -> None:
        """An instance dies."""
        self._admin("POST", "_kill", {"instance": instance, "reason": reason})

    def take_away(self, instance: str) -> None:
        """EC2 takes a spot instance away."""
        self.kill(instance, SPOT_ENDED)

    def quota(self, vcpus: int, spot: int = 256) -> None:
        """The quotas of every class of instance types, on demand and of spot instances."""
        self._admin("POST", "_quota", {"vcpus": vcpus, "spot": spot})

    def image_volume(self, device: str, gib: int) -> None:
        """The image gets a further volume, which it keeps when its instance ends."""
        self._admin("POST", "_volume", {"device": device, "gib": gib})

    def clock(self, ahead: timedelta) -> None:
        """How far the cloud's clock is ahead of this machine's."""
        self._admin("POST", "_clock", {"ahead_s": ahead.total_seconds()})

    def caller(self, arn: str = "", denied: Sequence[str] = ()) -> None:
        """Whose the credentials are, and which actions of docs/iam-policy.json they lack."""
        self._admin("POST", "_caller", {"arn": arn, "denied": list(denied)})

    def holdings(self) -> dict[str, list[str]]:
        """What is left: instances not terminated, key pairs, groups that are no default ones, and
        volumes of no instance.
        """
        found: dict[str, list[str]] = self._admin("GET", "_holdings")
        return found

    def requests(self, action: str) -> list[dict[str, str]]:
        """The parameters of an action's calls, in order; without those not known yet."""
        listed: list[dict[str, Any]] = self._admin("GET", "_requests")
        return [one["parameters"] for one in listed if one["action"] == action]

    def actions(self) -> set[str]:
        """The names of all calls since the beginning."""
        return {one["action"] for one in self._admin("GET", "_requests")}

    def _admin(self, method: str, path: str, given: object = None) -> Any:
        data = None if given is None else json.dumps(given).encode()
        request = urllib.request.Request(f"{self.endpoint}/{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return json.load(answer)

    # ------------------------------------------------------------ instances as hosts

    def _serve(self) -> None:
        """The server process asks for hosts, each on a connection of its own."""
        assert self._listener is not None
        while True:
            try:
                connection = self._listener.accept()
            except (EOFError, AuthenticationError):  # broken off; the server process asks again
                continue
            except OSError:
                if self._closed.is_set():
                    return
                continue
            threading.Thread(target=self._work, args=(connection,), daemon=True).start()

    def _work(self, connection: Connection) -> None:
        works: dict[str, Callable[..., Any]] = {
            "add": self._add,
            "boot": self._boot,
            "remove": self._remove,
        }
        with connection:
            try:
                name, *arguments = connection.recv()
            except (EOFError, OSError):  # broken off; the server process asks again
                return
            try:
                answer = (True, works[name](*arguments))
            except Exception as error:  # noqa: BLE001 - reported to the server
                answer = (False, f"{type(error).__name__}: {error}")
            with suppress(BrokenPipeError):
                connection.send(answer)

    def _add(self, address: str, key: str) -> None:
        assert self.network is not None
        host = self.network.add(address, key)
        with self._guard:
            self._hosts[address] = host

    def _boot(self, address: str, script: str, fail: list[str]) -> str:
        host = self.host(address)
        place = first_boot.on_host(host.root, host.host_key)
        place.prepare(fail=fail)
        (host.root / "etc/ssh/ssh_host_ed25519_key.pub").write_text(f"{host.host_key} root@ip\n")
        (place.folder / "user_data").write_text(place.moved_script(script))
        path = f"{place.seen_as / 'bin'}:{namespaces.PATH}"
        host.run(f"PATH={path} exec bash {place.seen_as / 'user_data'}", check=False)
        return place.console

    def _remove(self, address: str) -> None:
        assert self.network is not None
        with self._guard:
            self._hosts.pop(address)
        self.network.remove(address)
