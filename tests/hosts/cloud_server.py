"""The process behind `Cloud`: moto, made to behave like EC2 where it counts.

moto ignores ClientToken, accepts any image, lets groups go that are in use, and its instances run
at once and print always the same. Here a call with a known token launches nothing, or is refused
where that instance has ended; what was made a moment ago is not known to the first call that names
it; an instance is pending until it has booted, and its console shows what its user data printed.
Codes are those of "Error codes for the Amazon EC2 API" (EC2 Developer Guide).

A request that was signed too far from the cloud's own time is refused, and every other account than
the first has nothing.

    python -m tests.hosts.cloud_server FOLDER REGION [NETWORK ADDRESS]

prints its port. It ends with its standard input. NETWORK is the default VPC's, ADDRESS the socket
on which :mod:`tests.hosts.cloud` makes hosts of instances; without them user data runs in a folder.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl
from zlib import crc32

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ec2.models.amis import Ami
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.hosts import first_boot, iam

XEN = ("i3", "m4", "c4", "r4", "d2")
ATTEMPTS = 3
LOCAL_DISKS = {"i3": 2, "i3en": 2, "i4i": 1, "c5d": 1, "m5d": 1}
STANDARD = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
QUOTA = 256.0
# Codes of the quotas of spot instances; "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance
# Requests" is the first.
SPOT_QUOTAS = ("L-34B43A08", "L-88CF9481", "L-3819A6DF", "L-7212CCBC", "L-E3A00192", "L-B5D1601B")
SPOT = "InstanceMarketOptions.MarketType"
# Of the root volume of moto's images.
ROOT_GIB = 15
IMAGE: dict[str, Any] = {
    "name": "debian-12-amd64",
    "architecture": "x86_64",
    "virtualization_type": "hvm",
    "hypervisor": "xen",
    "root_device_type": "ebs",
    "root_device_name": "/dev/xvda",
    "public": True,
}
PARAMETER = "/aws/service/debian/release/12/latest/amd64"
# Whose credentials a campaign has.
CALLER = f"arn:aws:iam::{DEFAULT_ACCOUNT_ID}:user/benchlab"
# How far from AWS's time a request may be signed ("Common errors", RequestExpired).
SIGNED_WITHIN = timedelta(minutes=15)
UNAVAILABLE = {"RequestLimitExceeded", "Throttling", "InternalError", "Unavailable"}
Start = Callable[..., Any]
Answer = tuple[int, str, bytes]


class RefusedError(Exception):
    """A call that is refused, as AWS says it."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(code)


@dataclass
class Request:
    """One call to AWS."""

    service: str
    region: str
    action: str
    form: dict[str, str]
    json: dict[str, Any]
    account: str = DEFAULT_ACCOUNT_ID

    def listed(self, prefix: str) -> list[str]:
        """The values of ``Prefix.1``, ``Prefix.2``..."""
        return [value for key, value in self.form.items() if re.fullmatch(rf"{prefix}\.\d+", key)]


@dataclass
class Boot:
    """One instance's life beside moto's."""

    region: str
    instance: Any
    console: Callable[[], str] = field(default=lambda: "")
    address: str | None = None


class Server:
    """The WSGI application and its state."""

    def __init__(self, folder: Path, region: str, network: str, hosts: str) -> None:
        self.folder, self.region, self.hosts = folder, region, hosts
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.lock = threading.RLock()
        self.asking = threading.Lock()
        self.pool = ThreadPoolExecutor(12, thread_name_prefix="boot")
        self.tokens: dict[tuple[str, str], tuple[str, bytes, list[str]]] = {}
        self.faults: list[dict[str, Any]] = []
        self.boots: dict[str, Boot] = {}
        self.settings: dict[str, dict[str, Any]] = {}
        self.gone: set[str] = set()
        # Groups and key pairs that the next call that names them does not know yet.
        self.unknown: set[str] = set()
        # A further volume of the image: its device and size in GiB.
        self.volume: tuple[str, int] | None = None
        self.requests: list[dict[str, Any]] = []
        self.quota = self.spot_quota = QUOTA
        self.caller, self.denied = CALLER, set[str]()
        # How far the cloud's clock is ahead of this machine's.
        self.ahead = timedelta(0)
        self.image = self.image_of(region)
        if network:
            self._use(region, ipaddress.IPv4Network(network))
        self._open(region)

    # ------------------------------------------------------------ moto's inside

    def ec2(self, region: str) -> Any:
        """moto's EC2 of a region."""
        return get_backend("ec2")[DEFAULT_ACCOUNT_ID][region]

    def _use(self, region: str, network: ipaddress.IPv4Network) -> None:
        """Make a network the default VPC's, a quarter of it for each of four zones."""
        ec2 = self.ec2(region)
        old = ec2.get_default_vpc()
        old.is_default = False
        ec2.default_vpc = ec2.create_vpc(str(network), is_default=True)
        zones = sorted(zone.name for zone in ec2.describe_availability_zones())[:4]
        for subnets in ec2.subnets.values():
            subnets.clear()
        for zone, block in zip(zones, network.subnets(prefixlen_diff=2), strict=False):
            ec2.create_subnet(ec2.default_vpc.id, str(block), availability_zone=zone)

    def _open(self, region: str) -> None:
        """Default VPCs lead to the internet ("Default VPCs", Amazon VPC User Guide); moto's not."""
        ec2 = self.ec2(region)
        vpc = ec2.get_default_vpc()
        gateway = ec2.create_internet_gateway()
        ec2.attach_internet_gateway(gateway.id, vpc.id)
        [main] = [
            table
            for table in ec2.route_tables.values()
            if table.main_association_id and table.vpc_id == vpc.id
        ]
        ec2.create_route(main.id, "0.0.0.0/0", gateway_id=gateway.id)

    def image_of(self, region: str) -> str:
        """The image of a region; ids are of one region. moto's own are a thousand in each."""
        ec2, name = self.ec2(region), f"ami-{crc32(region.encode()):017x}"
        if name not in ec2.amis:
            ec2.amis[name] = Ami(ec2, name, **IMAGE)
        return name

    def instances(self, region: str) -> list[Any]:
        """moto's instances."""
        return [
            instance
            for reservation in self.ec2(region).reservations.values()
            for instance in reservation.instances
        ]

    def _of(self, region: str, ids: Iterable[str]) -> list[Any]:
        return [one for one in self.instances(region) if one.id in ids]

    def _state(self, instance: Any, name: str, code: int) -> None:
        instance._state.name, instance._state.code = name, code

    # ------------------------------------------------------------ WSGI

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        path = environ["PATH_INFO"]
        if path.startswith("/_"):
            given = json.loads(body) if body else {}
            return _send(start, self.admin(environ["REQUEST_METHOD"], path, given))
        request = _understood(environ, body)
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = request.account
        try:
            _check_signed(environ, datetime.now(UTC) + self.ahead)
            answer = self.answer(request, environ, body)
        except RefusedError as refusal:
            answer = _refusal(request, refusal)
        if answer[1] == "lost":
            # As a connection that breaks: there is no answer at all.
            environ["werkzeug.socket"].shutdown(2)
        return _send(start, answer)

    def answer(self, request: Request, environ: dict[str, Any], body: bytes) -> Answer:
        """What a call is answered; injected faults first, or last where they are to be."""
        with self.lock:
            zone = self._zone(request)
            self._refuse_unknown(request)
            tokens = {**request.form, **request.json}
            self.requests.append(
                {"service": request.service, "action": request.action, "parameters": tokens}
            )
            fault = self._fault(request, zone)
            if fault and not fault.get("after_success"):
                return self._faulty(request, fault)
            own = getattr(self, f"do_{request.action}", None)
            if own is None or request.account != DEFAULT_ACCOUNT_ID:
                answer = self.forward(environ, body)
            else:
                answer = own(request, lambda: self.forward(environ, body))
            return self._faulty(request, fault) if fault else answer

    def forward(self, environ: dict[str, Any], body: bytes) -> Answer:
        """moto's own answer."""
        status: list[str] = []
        headers: dict[str, str] = {}

        def start(line: str, listed: list[tuple[str, str]], *_: Any) -> None:
            status.append(line)
            headers.update({key.lower(): value for key, value in listed})

        environ = {**environ, "wsgi.input": BytesIO(body)}
        environ.pop("werkzeug.request", None)
        text = b"".join(self.moto(environ, start))
        return int(status[0].split()[0]), headers.get("content-type", "text/xml"), text

    def _zone(self, request: Request) -> str | None:
        subnet = request.form.get("SubnetId") or request.form.get("NetworkInterface.1.SubnetId")
        if request.action != "RunInstances" or subnet is None:
            return None
        return str(self.ec2(request.region).get_subnet(subnet).availability_zone)

    def _fault(self, request: Request, zone: str | None) -> dict[str, Any] | None:
        told = json.dumps({**request.form, **request.json})
        for fault in self.faults:
            wanted = {"action": request.action, "zone": zone, "region": request.region}
            fits = all(fault.get(key) in (None, value) for key, value in wanted.items())
            if fits and fault.get("match", "") in told and fault["times"] != 0:
                fault["times"] -= 1
                return fault
        return None

    def _faulty(self, request: Request, fault: dict[str, Any]) -> Answer:
        if fault["code"] == "lost":
            return 500, "lost", b""
        if fault["code"] == "html":
            return 502, "text/html", b"<!doctype html>\n<title>Bad Gateway</title>\n"
        if fault["code"] == "empty":
            name = f"{request.action}Response"
            xmlns = "http://ec2.amazonaws.com/doc/2016-11-15/"
            return 200, "text/xml", f'<{name} xmlns="{xmlns}"></{name}>'.encode()
        told = fault.get("message") or f"Fault injected into {request.action}."
        raise RefusedError(fault["code"], told)

    # ------------------------------------------------------------ what moto does not do

    def _refuse_unknown(self, request: Request) -> None:
        """By eventual consistency; such a call is not among the recorded ones."""
        if not request.action.startswith(("RunInstances", "Authorize")):
            return
        named = {value for key, value in request.form.items() if not key.startswith("Filter")}
        for one in sorted(self.unknown & named):
            self.unknown.remove(one)
            kind = "Group" if one.startswith("sg-") else "KeyPair"
            raise RefusedError(f"Invalid{kind}.NotFound", f"'{one}' does not exist")

    def do_CreateSecurityGroup(self, _: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """The group is known everywhere only after a while."""
        answer = forward()
        self.unknown |= set(re.findall(r"<groupId>(sg-[0-9a-f]+)</groupId>", answer[2].decode()))
        return answer

    def do_ImportKeyPair(self, request: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """As for groups."""
        answer = forward()
        if answer[0] == 200:
            self.unknown.add(request.form["KeyName"])
        return answer

    def do_DescribeImages(self, _: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """With the further volume, which the image keeps when its instance ends."""
        status, kind, text = forward()
        if self.volume is not None:
            device, size = self.volume
            ebs = f"<volumeSize>{size}</volumeSize><deleteOnTermination>false</deleteOnTermination>"
            item = f"<item><deviceName>{device}</deviceName><ebs>{ebs}</ebs></item>"
            text = text.replace(b"<blockDeviceMapping>", b"<blockDeviceMapping>" + item.encode())
        return status, kind, text

    def _add_volume(self, request: Request, instance: Any) -> None:
        """What the image has and the request does not map differently."""
        if self.volume is not None and self.volume[0] not in request.form.values():
            device, size = self.volume
            instance.add_block_device(size, device, None, False, False, None, None)
            volume = self.ec2(request.region).volumes[
                instance.block_device_mapping[device].volume_id
            ]
            volume.add_tags({tag["key"]: tag["value"] for tag in instance.get_tags()})

    def do_RunInstances(self, request: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """Idempotent by ClientToken; unknown images refused; then the instance boots."""
        if (image := request.form.get("ImageId", "")) not in self.ec2(request.region).amis:
            raise RefusedError("InvalidAMIID.NotFound", f"The image id '[{image}]' does not exist")
        token = (request.region, request.form.get("ClientToken", ""))
        told = json.dumps(sorted(request.form.items()))
        if known := self.tokens.get(token):
            if known[0] != told:
                raise RefusedError(
                    "IdempotentParameterMismatch",
                    "Arguments on this idempotent request are inconsistent with arguments used "
                    "in previous request(s).",
                )
            if all(one.state == "terminated" for one in self._of(request.region, known[2])):
                raise RefusedError(
                    "IdempotentInstanceTerminated",
                    "The request uses the same client token as a previous request for which the "
                    "instance has been terminated.",
                )
            return 200, "text/xml", self._with_state(request.region, known[1], known[2])
        for key, size in request.form.items():
            if key.endswith(".Ebs.VolumeSize") and int(size) < ROOT_GIB:
                raise RefusedError(
                    "InvalidBlockDeviceMapping",
                    f"Volume of size {size}GB is smaller than snapshot, expect size >= {ROOT_GIB}",
                )
        if request.form.get(SPOT) == "spot":
            self._check_spot(request)
        status, kind, text = forward()
        if status != 200:
            return status, kind, text
        ids = re.findall(r"<instanceId>(i-[0-9a-f]+)</instanceId>", text.decode())
        self.tokens[token] = (told, text, ids)
        for instance in self._of(request.region, ids):
            self._add_volume(request, instance)
            self._state(instance, "pending", 0)
            boot = self.boots[instance.id] = Boot(request.region, instance)
            self.pool.submit(self._boot, boot)
        return status, kind, self._with_state(request.region, text, ids)

    def _check_spot(self, request: Request) -> None:
        """What EC2 refuses of spot instances (cirrus-ci-docs#1132 has the first one's words)."""
        options = "InstanceMarketOptions.SpotOptions."
        if (
            request.form.get(options + "SpotInstanceType", "one-time") == "one-time"
            and request.form.get(options + "InstanceInterruptionBehavior", "terminate") == "stop"
        ):
            raise RefusedError(
                "InvalidParameterCombination",
                "The request with type 'one-time' is not supported when "
                "instanceInterruptionBehavior is set to 'STOP'",
            )
        kinds = {
            kind["InstanceType"]: kind["VCpuInfo"]["DefaultVCpus"]
            for kind in self.ec2(request.region).describe_instance_types()
        }
        wanted = [request.form["InstanceType"]]
        wanted += [
            one.instance_type
            for one in self.instances(request.region)
            if one.lifecycle == "spot" and one.state in ("pending", "running")
        ]
        if sum(kinds[kind] for kind in wanted) > self.spot_quota:
            raise RefusedError("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")

    def _with_state(self, region: str, text: bytes, ids: list[str]) -> bytes:
        """An earlier answer with the state of now."""
        [instance] = self._of(region, ids)
        state = f"<code>{instance.state_code}</code><name>{instance.state}</name>"
        pattern = rb"(<instanceState>\s*)<code>\d+</code>\s*<name>[a-z-]+</name>"
        changed, count = re.subn(pattern, rb"\g<1>" + state.encode(), text)
        assert count == 1, text
        return changed

    def do_DescribeInstances(self, _: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """What shuts down has shut down when it is looked at again."""
        answer = forward()
        for instance in [boot.instance for boot in self.boots.values()]:
            if instance.state == "shutting-down" and instance.id in self.gone:
                self._state(instance, "terminated", 48)
        return answer

    def do_TerminateInstances(self, request: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """First shutting down, and only then terminated."""
        known = {instance.id: instance for instance in self.instances(request.region)}
        ended = [known[one] for one in request.listed("InstanceId") if one in known]
        if ended and all(one.state in ("shutting-down", "terminated") for one in ended):
            name = "TerminateInstancesResponse"
            return 200, "text/xml", f"<{name}><instancesSet/></{name}>".encode()
        answer = forward()
        if answer[0] == 200:
            for instance in ended:
                self._state(instance, "shutting-down", 32)
                self.pool.submit(self._end, self.boots[instance.id])
        return answer

    def do_DeleteSecurityGroup(self, request: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """A group is kept while an instance has it."""
        group = request.form.get("GroupId", "")
        for instance in self.instances(request.region):
            groups = {one.id for one in instance.security_groups} | {
                one.id for nic in instance.nics.values() for one in nic.group_set
            }
            if group in groups and instance.state != "terminated":
                raise RefusedError(
                    "DependencyViolation", f"resource {group} has a dependent object"
                )
        return forward()

    def do_GetConsoleOutput(self, request: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """What user data has printed; live on Nitro only."""
        one = request.form.get("InstanceId", "")
        boot = self.boots.get(one)
        if boot is None:
            return forward()
        latest = request.form.get("Latest", "").lower() == "true"
        if latest and boot.instance.instance_type.split(".")[0] in XEN:
            raise RefusedError(
                "UnsupportedOperation", "This instance type does not support the latest output."
            )
        noise = "[    0.000000] Linux version 6.1.0-26-cloud-amd64\r\n"
        text = base64.b64encode((noise + boot.console()).encode()).decode()
        name = "GetConsoleOutputResponse"
        inner = f"<instanceId>{one}</instanceId><output>{text}</output>"
        return 200, "text/xml", f"<{name}>{inner}</{name}>".encode()

    def do_GetServiceQuota(self, request: Request, _: Callable[[], Answer]) -> Answer:  # noqa: N802
        """One quota of EC2."""
        spot = request.json.get("QuotaCode") in SPOT_QUOTAS
        quota = {
            "ServiceCode": request.json.get("ServiceCode"),
            "QuotaCode": request.json.get("QuotaCode"),
            "QuotaName": STANDARD,
            "Value": self.spot_quota if spot else self.quota,
        }
        return 200, "application/x-amz-json-1.1", json.dumps({"Quota": quota}).encode()

    def do_GetCallerIdentity(self, _: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """As the user or the role that was set."""
        status, kind, text = forward()
        arn = f"<Arn>{self.caller}</Arn>".encode()
        return status, kind, re.sub(rb"<Arn>[^<]*</Arn>", arn, text)

    def do_SimulatePrincipalPolicy(self, request: Request, _: Callable[[], Answer]) -> Answer:  # noqa: N802
        """By docs/iam-policy.json, without what was denied; moto does not have it."""
        form, principal = request.form, request.form["PolicySourceArn"]
        roles = [role.arn for role in get_backend("iam")[DEFAULT_ACCOUNT_ID]["aws"].roles.values()]
        if principal not in (self.caller, *roles) or ":sts:" in principal:
            raise RefusedError("NoSuchEntity", f"The entity {principal} cannot be found.")
        context = {}
        for key, name in form.items():
            if found := re.fullmatch(r"ContextEntries\.member\.(\d+)\.ContextKeyName", key):
                values = f"ContextEntries.member.{found[1]}.ContextKeyValues.member.1"
                context[name] = form[values]
        results = ""
        for action in request.listed(r"ActionNames\.member"):
            for resource in request.listed(r"ResourceArns\.member"):
                good = action not in self.denied and iam.allows(action, resource, context)
                decision = "allowed" if good else "implicitDeny"
                results += (
                    f"<member><EvalActionName>{action}</EvalActionName>"
                    f"<EvalResourceName>{resource}</EvalResourceName>"
                    f"<EvalDecision>{decision}</EvalDecision></member>"
                )
        result = f"<EvaluationResults>{results}</EvaluationResults><IsTruncated>false</IsTruncated>"
        name = "SimulatePrincipalPolicy"
        text = f"<{name}Response><{name}Result>{result}</{name}Result></{name}Response>"
        return 200, "text/xml", text.encode()

    def do_GetParameter(self, request: Request, forward: Callable[[], Answer]) -> Answer:  # noqa: N802
        """Debian's public parameter, which moto does not have."""
        if request.json.get("Name") != PARAMETER:
            return forward()
        image = self.image_of(request.region)
        value = {"Name": PARAMETER, "Type": "String", "Value": image}
        return 200, "application/x-amz-json-1.1", json.dumps({"Parameter": value}).encode()

    # ------------------------------------------------------------ instances

    def _boot(self, boot: Boot) -> None:
        """Make a host of an instance, and run its user data."""
        instance, settings = boot.instance, self._settings(boot)
        if settings.get("never"):
            return
        script = instance.user_data.decode() if instance.user_data else ""
        fail = settings.get("fail", ())
        try:
            if self.hosts:
                self._boot_host(boot, script, fail)
            else:
                self._boot_folder(boot, script, fail)
        except Exception as error:  # noqa: BLE001 - an instance dies of whatever it is
            self._die(boot, f"Server.InternalError: {error}")

    def _boot_folder(self, boot: Boot, script: str, fail: Iterable[str]) -> None:
        import asyncssh

        key = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
        place = first_boot.here(self.folder / boot.instance.id, host_key=key)
        kind = boot.instance.instance_type.split(".")[0]
        disks = {f"nvme{n}n1": "" for n in range(1, LOCAL_DISKS.get(kind, 0) + 1)}
        place.prepare(disks, fail=fail)
        self._run(boot)
        place.run(script)
        with self.lock:
            boot.console = lambda: place.console

    def _boot_host(self, boot: Boot, script: str, fail: Iterable[str]) -> None:
        address = str(boot.instance.private_ip)
        pair = self.ec2(boot.region).key_pairs[boot.instance.key_name]
        key = pair.material_public
        key = key.decode() if isinstance(key, bytes) else str(key)
        self._ask("add", address, key)
        with self.lock:
            boot.address = address
            ended = boot.instance.state not in ("pending", "running")
        if ended:
            self._remove(boot)
            return
        self._run(boot)
        text = self._ask("boot", address, script, list(fail))
        with self.lock:
            boot.console = lambda: text

    def _run(self, boot: Boot) -> None:
        with self.lock:
            if boot.instance.state == "pending":
                self._state(boot.instance, "running", 16)

    def _end(self, boot: Boot) -> None:
        self._remove(boot)
        with self.lock:
            self.gone.add(boot.instance.id)

    def _remove(self, boot: Boot) -> None:
        with self.lock:
            address, boot.address = boot.address, None
        if address is not None:
            self._ask("remove", address)

    def _die(self, boot: Boot, reason: str) -> None:
        """As an instance whose hardware fails, or that shuts itself down."""
        self._remove(boot)
        with self.lock:
            boot.instance.terminate()
            boot.instance.state_reason.code = reason.split(":")[0]
            boot.instance.state_reason.message = reason
            self.gone.add(boot.instance.id)

    def _settings(self, boot: Boot) -> dict[str, Any]:
        named = {tag["key"]: tag["value"] for tag in boot.instance.get_tags()}
        return self.settings.get(named.get("benchlab:name", ""), {})

    def _ask(self, *request: Any) -> Any:
        """What the process that has the hosts answers; a broken connection is made anew."""
        good, answer = self._answered(request)
        if not good:
            raise RuntimeError(answer)
        return answer

    def _answered(self, request: tuple[Any, ...]) -> tuple[bool, Any]:
        for left in reversed(range(ATTEMPTS)):
            try:
                with self._send(request) as connection:
                    answered: tuple[bool, Any] = connection.recv()
                    return answered
            except (OSError, EOFError, AuthenticationError) as error:
                # Nothing was done: the other side answers whatever it has received.
                print(f"{request[0]}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                if not left:
                    raise
                time.sleep(0.2)
        raise AssertionError("unreachable")

    def _send(self, request: tuple[Any, ...]) -> Any:
        key = bytes.fromhex(os.environ["BENCHLAB_TEST_CLOUD_KEY"])
        # One handshake at a time.
        with self.asking:
            connection = Client("\0" + self.hosts[1:], "AF_UNIX", authkey=key)
            connection.send(request)
        return connection

    # ------------------------------------------------------------ the admin's routes

    def admin(self, method: str, path: str, given: dict[str, Any]) -> Answer:
        """Faults, deaths, and what is left."""
        routes = {
            "/_faults": self._admin_faults,
            "/_boots": self._admin_boots,
            "/_kill": self._admin_kill,
            "/_quota": self._admin_quota,
            "/_volume": self._admin_volume,
            "/_clock": self._admin_clock,
            "/_caller": self._admin_caller,
            "/_holdings": self._admin_holdings,
            "/_requests": lambda *_: self.requests,
            "/_image": lambda *_: self.image,
            "/_reset": self._admin_reset,
        }
        if path == "/_kill":  # ends a host, which may take its time
            return _json(self._admin_kill(method, given))
        with self.lock:
            return _json(routes[path](method, given))

    def _admin_faults(self, method: str, given: dict[str, Any]) -> Any:
        if method == "DELETE":
            self.faults.clear()
        elif method == "GET":
            return self.faults
        else:
            self.faults.append({"times": -1, **given})
        return self.faults

    def _admin_reset(self, *_: Any) -> Any:
        self.ahead = timedelta(0)
        for name in ("ec2", "iam"):
            for backend in get_backend(name)[DEFAULT_ACCOUNT_ID].values():
                backend.reset()
        for kept in (self.tokens, self.faults, self.boots, self.settings, self.requests):
            kept.clear()
        self.gone.clear()
        self.unknown.clear()
        self.quota, self.spot_quota, self.volume = QUOTA, QUOTA, None
        self.caller, self.denied = CALLER, set()
        self.image_of(self.region)
        self._open(self.region)
        return {}

    def _admin_caller(self, _: str, given: dict[str, Any]) -> Any:
        self.caller, self.denied = given["arn"] or CALLER, set(given["denied"])
        return {}

    def _admin_boots(self, _: str, given: dict[str, Any]) -> Any:
        self.settings[given["name"]] = given
        return self.settings

    def _admin_kill(self, _: str, given: dict[str, Any]) -> Any:
        reason = given.get("reason") or "Server.InternalError: Internal error on launch"
        self._die(self.boots[given["instance"]], reason)
        return {}

    def _admin_quota(self, _: str, given: dict[str, Any]) -> Any:
        self.quota = float(given["vcpus"])
        self.spot_quota = float(given["spot"])
        return {}

    def _admin_volume(self, _: str, given: dict[str, Any]) -> Any:
        self.volume = (given["device"], given["gib"])
        return {}

    def _admin_clock(self, _: str, given: dict[str, Any]) -> Any:
        self.ahead = timedelta(seconds=given["ahead_s"])
        return {}

    def _admin_holdings(self, *_: Any) -> Any:
        regions = list(get_backend("ec2")[DEFAULT_ACCOUNT_ID])
        return {
            "instances": sorted(
                one.id
                for region in regions
                for one in self.instances(region)
                if one.state != "terminated"
            ),
            "keys": sorted(name for region in regions for name in self.ec2(region).key_pairs),
            "groups": sorted(
                group.id
                for region in regions
                for groups in self.ec2(region).groups.values()
                for group in groups.values()
                if group.name != "default"
            ),
            "volumes": sorted(
                volume.id
                for region in regions
                for volume in self.ec2(region).volumes.values()
                if not any(volume.id in _volumes_of(one) for one in self.instances(region))
            ),
        }


def _volumes_of(instance: Any) -> set[str]:
    return {device.volume_id for device in instance.block_device_mapping.values()}


def _understood(environ: dict[str, Any], body: bytes) -> Request:
    scope = re.search(
        r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/", environ.get("HTTP_AUTHORIZATION", "")
    )
    key, region, service = scope.groups() if scope else ("", "", "")
    # A key that is twelve digits is one of the account of this id.
    account = key if re.fullmatch(r"\d{12}", key) else DEFAULT_ACCOUNT_ID
    if target := environ.get("HTTP_X_AMZ_TARGET"):
        told = json.loads(body or b"{}")
        return Request(service, region, target.split(".")[-1], {}, told, account)
    form: dict[str, str] = {}
    if environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
    return Request(service, region, form.get("Action", ""), form, {}, account)


def _check_signed(environ: dict[str, Any], now: datetime) -> None:
    """Refuse what was signed at another time than now, as every service of AWS does."""
    signed = environ.get("HTTP_X_AMZ_DATE")
    at = datetime.strptime(signed, "%Y%m%dT%H%M%S%z") if signed else now
    if abs(now - at) > SIGNED_WITHIN:
        raise RefusedError("RequestExpired", "Request has expired.")


def _refusal(request: Request, refusal: RefusedError) -> Answer:
    status = 503 if refusal.code in UNAVAILABLE else 400
    if not request.form:
        told = {"__type": refusal.code, "message": refusal.message}
        return status, "application/x-amz-json-1.1", json.dumps(told).encode()
    error = f"<Error><Code>{refusal.code}</Code><Message>{refusal.message}</Message></Error>"
    if request.service == "ec2":
        text = f"<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>"
    else:
        text = f"<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>"
    return status, "text/xml", text.encode()


def _json(value: Any) -> Answer:
    return 200, "application/json", json.dumps(value).encode()


def _send(start: Start, answer: Answer) -> Iterable[bytes]:
    status, kind, text = answer
    start(f"{status} X", [("Content-Type", kind), ("Content-Length", str(len(text)))])
    return [text]


def main(folder: str, region: str, network: str = "", hosts: str = "") -> None:
    """Serve until standard input ends."""
    application = Server(Path(folder), region, network, hosts)

    class Handler(WSGIRequestHandler):
        def date_time_string(self, timestamp: float | None = None) -> str:
            """The header `Date` of every answer."""
            return super().date_time_string(time.time() + application.ahead.total_seconds())

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Writing them down would take longer than many of them."""

    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.port, flush=True)
    sys.stdin.read()
    # Boots that are still at work are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
