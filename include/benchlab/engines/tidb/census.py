"""Asks every server of a cluster, each on its own host and port, for its state and its facts.

Example:
    ``Census(executor, fleet, ports, places).silent()`` is empty if every server answers.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from benchlab.engines.database import Profiled, Regions
from benchlab.engines.tidb import counts, leaders, profiles, stalls, status
from benchlab.engines.tidb.facts import InstanceFacts, without_places
from benchlab.engines.tidb.status import Answers, Server, Store
from benchlab.engines.tidb.topology import COMPONENTS, Component, Places, Ports
from benchlab.errors import EngineError
from benchlab.hosts.counters import Source
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.language import Said
from benchlab.results.diagnosis import Kind

UP_LIMIT_S = 300.0
BALANCE_LIMIT_S = 300.0
# PD schedules every second: leaders that have not moved for this long stay where they are.
SETTLED_S = 10.0
LEVEL_LIMIT_S, LEVEL_POLL_S = 60.0, 0.3
POLL_S = 1.0
API = "/pd/api/v1"
UP_ROUTES: dict[Component, str] = {"pd": f"{API}/health", "tikv": "/config", "tidb": "/status"}
MISSING_PEERS = "/regions/check/miss-peer"
PEER_ROUTES = (MISSING_PEERS, "/regions/check/pending-peer", "/regions/check/down-peer")
# The routes of the configuration, and of the version; PD reports that of TiKV.
CONFIG_ROUTES: dict[Component, str] = {"pd": f"{API}/config", "tikv": "/config", "tidb": "/config"}
VERSION_ROUTES: dict[Component, tuple[str, ...]] = {
    "pd": (f"{API}/status",),
    "tikv": (),
    "tidb": ("/status", "/info"),
}


def server_name(component: str, host: str) -> str:
    """The name of a side's server, under which its identity is noted: ``tikv kv-1``."""
    return f"{component} {host}"


@dataclass(frozen=True)
class Census:
    """The servers of one side.

    Args:
        executor: the host from which they are asked.
        places: gives the side's places on a host.
    """

    executor: Executor
    fleet: Fleet
    ports: Ports
    places: Callable[[FleetHost], Places]

    def servers(self) -> Iterator[tuple[Component, FleetHost]]:
        """Every server that should be running, and its host."""
        for component in COMPONENTS:
            for host in self.fleet.with_role(component):
                yield component, host

    def silent(self) -> list[str]:
        """The servers that do not answer, such as ``tikv on kv-1``."""
        routes = self._up_routes()
        return self._silent_among(routes, status.ask(self.executor, [*routes]))

    def not_up(self) -> list[str]:
        """The servers that do not answer; if all do, stores not Up and unhealthy PD members."""
        routes = self._up_routes()
        about = {path: self._pd_urls(path) for path in ("/stores", "/health")}
        answers = status.ask(
            self.executor, [*dict.fromkeys([*routes, *about["/stores"], *about["/health"]])]
        )
        if silent := self._silent_among(routes, answers):
            return silent
        try:
            stores = status.read_stores(*self._first(about["/stores"], answers))
            unhealthy = status.read_unhealthy(*self._first(about["/health"], answers))
        except EngineError as error:  # a PD that has just started has no leader yet
            return [str(error)]
        states = {store.address: store.state for store in stores}
        found = {
            host.name: states.get(f"{host.address}:{self.ports.tikv}", "unknown to PD")
            for host in self.fleet.with_role("tikv")
        }
        return [f"tikv on {name}: {state}" for name, state in found.items() if state != "Up"] + [
            f"pd {name}: not healthy" for name in unhealthy
        ]

    def wait_until_up(self) -> list[str]:
        """Wait until :meth:`not_up` is empty, for five minutes at most; returns what is left."""
        deadline = time.monotonic() + UP_LIMIT_S
        while (waiting := self.not_up()) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return waiting

    def wait_until_settled(self, *, level: bool) -> None:
        """Wait until PD has nothing left to move, for five minutes at most.

        Args:
            level: whether the leaders are levelled afterwards; if not, they also have to stay where
                they are for a while, since PD begins to move them some seconds after a start.
        """
        deadline = time.monotonic() + BALANCE_LIMIT_S
        seen: Mapping[str, int] = {}
        since = time.monotonic()
        while (now := time.monotonic()) < deadline:
            with contextlib.suppress(EngineError):  # a PD that has just started has no leader yet
                found = self.regions(level=level)
                if found.leaders != seen or found.unsettled:
                    seen, since = found.leaders, now
                if not found.unsettled and (level or now - since > SETTLED_S):
                    return
            time.sleep(POLL_S)

    def level(self, database: str) -> None:
        """Level the leaders over the stores: of all regions, and of each table of a schema.

        Asks PD again and again, for a minute at most: it refuses transfers to a peer that is not
        ready yet, and makes those that it accepts one after another.

        Raises:
            EngineError: a server does not answer.
        """
        deadline = time.monotonic() + LEVEL_LIMIT_S
        while (asked := self._to_move(database)) and time.monotonic() < deadline:
            transfers = [
                {"name": "transfer-leader", "region_id": region, "to_store_id": store}
                for region, store in asked.items()
            ]
            status.post(self.executor, self._pd_urls("/operators")[0], transfers)
            time.sleep(LEVEL_POLL_S)

    def _to_move(self, database: str) -> dict[int, int]:
        of_pd = self._ask_pd("/regions", "/stores")
        servers = self.fleet.with_role("tidb")
        tables = [self._url("tidb", host.address, f"/schema/{database}") for host in servers]
        answers = status.ask(self.executor, tables)
        up = [store.id for store in status.read_stores(*of_pd["/stores"]) if store.state == "Up"]
        known = leaders.read_regions(*of_pd["/regions"])
        return leaders.moves(known, up, status.read_table_ids(*self._first(tables, answers)))

    def regions(self, *, level: bool) -> Regions:
        """How the leaders are spread, and what PD still has to move.

        Right after a start PD reports a single leader, which looks even. So a region without a
        leader counts as unsettled, like one without a peer.

        Args:
            level: whether the spread is compared with what levelling leaves, or what PD leaves.

        Raises:
            EngineError: PD does not answer.
        """
        routes = ("/stores", "/config", "/operators", "/stats/region", *PEER_ROUTES)
        found = self._ask_pd(*routes)
        stores = [s for s in status.read_stores(*found["/stores"]) if s.state != "Tombstone"]
        counts = [store.leaders for store in stores]
        lacking = {
            path: status.field(answer, "count", int, where, 0)
            for path, (where, answer) in found.items()
            if path in ("/stats/region", *PEER_ROUTES)
        }
        where, config = found["/config"]
        replication = status.field(config, "replication", dict, where)
        if len(stores) < status.field(replication, "max-replicas", int, where):
            lacking[MISSING_PEERS] = 0  # there is no store on which PD could make them
        lacking["/stats/region"] -= sum(counts)
        at, answer = found["/operators"]
        operators = status.typed(answer, list, f"{at}: the answer")
        hosts = {f"{h.address}:{self.ports.tikv}": h.name for h in self.fleet.with_role("tikv")}
        return Regions(
            {hosts.get(store.address, store.address): store.leaders for store in stores},
            leaders.beyond_level(counts)
            if level
            else leaders.beyond_pd(counts, status.field(config, "schedule", dict, where)),
            len(operators) + sum(map(abs, lacking.values())),
        )

    def write_stalls(self) -> dict[str, float | None]:
        """:func:`benchlab.engines.tidb.stalls.read_counters` of every TiKV server, by host."""
        urls = {
            h.name: self._url("tikv", h.address, "/metrics") for h in self.fleet.with_role("tikv")
        }
        found = stalls.ask(self.executor, [*urls.values()])
        return {name: found[url] for name, url in urls.items()}

    def counter_sources(self) -> list[Source]:
        """Every server, and how its counters are read."""
        return [
            Source(
                # An owned host may have several servers.
                server_name(component, host.name),
                component,
                counts.command(component, self._url(component, host.address, "/metrics")),
            )
            for component, host in self.servers()
        ]

    def profile_sources(self, kind: Kind, seconds: int, version: str) -> Profiled:
        """Every server that can be profiled, and how; and which cannot."""
        why: dict[str, Said] = {
            component: said
            for component in COMPONENTS
            if (said := profiles.lacking(kind, component, version)) is not None
        }
        return Profiled(
            [
                Source(
                    server_name(component, host.name),
                    component,
                    profiles.command(
                        kind, component, self._url(component, host.address, ""), seconds
                    ),
                )
                for component, host in self.servers()
                if component not in why
            ],
            why,
        )

    def tidb(self, address: str) -> Server:
        """One TiDB server.

        Raises:
            EngineError: it does not answer.
        """
        return self._tidb(address, status.ask(self.executor, self._tidb_urls(address)))

    def instances(self) -> tuple[InstanceFacts, ...]:
        """The facts of every server.

        Raises:
            EngineError: one does not answer, or PD does not know a store.
        """
        answers = status.ask(self.executor, self._urls())
        known = status.read_stores(*self._first(self._pd_urls("/stores"), answers))
        stores = {store.address: store for store in known}
        return tuple(
            self._instance(component, host, self._server(component, host, stores, answers), answers)
            for component, host in self.servers()
        )

    def ended(self, started: Mapping[str, str | None]) -> list[tuple[Component, FleetHost]]:
        """The servers that do not answer, or whose identity changed since they were started.

        Args:
            started: the identity of every server that was started, by :func:`server_name`.
        """
        pd = self._pd_urls("/stores")
        answers = status.ask(self.executor, self._urls())
        known = any(answers.found.get(url) is not None for url in pd)
        stores = status.read_stores(*self._first(pd, answers)) if known else ()
        by_address = {store.address: store for store in stores}

        def has_ended(component: Component, host: FleetHost) -> bool:
            if self._url(component, host.address, CONFIG_ROUTES[component]) not in answers.found:
                return True
            if component == "tikv" and not known:  # only PD would know when it was started
                return False
            try:
                identity = self._server(component, host, by_address, answers).identity
            except EngineError:
                return True
            return identity != started[server_name(component, host.name)]

        return [
            (component, host)
            for component, host in self.servers()
            if server_name(component, host.name) in started and has_ended(component, host)
        ]

    def _server(
        self,
        component: Component,
        host: FleetHost,
        stores: dict[str, Store],
        answers: Answers,
    ) -> Server:
        if component == "tidb":
            return self._tidb(host.address, answers)
        if component == "pd":
            url = self._url("pd", host.address, f"{API}/status")
            return status.read_pd(self._where(url), answers.must(url))
        address = f"{host.address}:{self.ports.tikv}"
        if address not in stores:
            raise EngineError(f"PD does not know the store {address} (tikv on {host.name})")
        return stores[address]

    def _instance(
        self, component: Component, host: FleetHost, server: Server, answers: Answers
    ) -> InstanceFacts:
        url = self._url(component, host.address, CONFIG_ROUTES[component])
        config = answers.get(url)
        if config is not None:
            config = status.typed(config, dict, f"{self._where(url)}: the answer")
        return InstanceFacts(
            host=host.name,
            component=component,
            version=server.version,
            git_hash=server.git_hash,
            config=None if config is None else self._comparable(host, status.flatten(config)),
            identity=server.identity,
            built_at=server.built_at,
        )

    def _comparable(self, host: FleetHost, config: dict[str, str]) -> dict[str, str]:
        return without_places(
            config,
            addresses=[host.address for host in self.fleet.hosts],
            # Only the end of the path: a server may report it with the links above resolved.
            root=f"/{self.places(host).root.relative_to(host.data)}",
            ports=vars(self.ports).values(),
        )

    def _urls(self) -> list[str]:
        """The URLs that have the facts of every server."""
        return self._pd_urls("/stores") + [
            self._url(component, host.address, path)
            for component, host in self.servers()
            for path in (CONFIG_ROUTES[component], *VERSION_ROUTES[component])
        ]

    def _silent_among(
        self, routes: Mapping[str, tuple[Component, FleetHost]], answers: Answers
    ) -> list[str]:
        return [
            f"{component} on {host.name}"
            for url, (component, host) in routes.items()
            if url not in answers.found
        ]

    def _first(self, urls: Sequence[str], answers: Answers) -> tuple[str, Any]:
        """The first of several answers, and where it came from, for errors.

        One is enough of PD: members that do not lead it forward the question.
        """
        found = [url for url in urls if answers.found.get(url) is not None]
        if not found:
            raise EngineError(f"nothing answers {', '.join(urls)}: {answers.complaint}")
        return self._where(found[0]), answers.found[found[0]]

    def _ask_pd(self, *paths: str) -> dict[str, tuple[str, Any]]:
        """PD's answers by path, each with where it came from.

        Members are asked one by one until one answers all: a large dataset's regions are megabytes.
        """
        silent = []
        for host in self.fleet.with_role("pd"):
            urls = {path: self._url("pd", host.address, f"{API}{path}") for path in paths}
            answers = status.ask(self.executor, [*urls.values()])
            found = {path: answers.found.get(url) for path, url in urls.items()}
            if None not in found.values():
                return {path: (self._where(urls[path]), found[path]) for path in paths}
            silent.append(answers.complaint)
        raise EngineError(f"no member of PD answers {', '.join(paths)}: {'; '.join(silent)}")

    def _where(self, url: str) -> str:
        """A URL with the name of its host, for people."""
        address = urlsplit(url).hostname
        names = [host.name for host in self.fleet.hosts if host.address == address]
        return f"{', '.join(names)}: {url}"

    def _tidb(self, address: str, answers: Answers) -> Server:
        about, info = self._tidb_urls(address)
        return status.read_tidb(self._where(about), answers.must(about), answers.get(info))

    def _up_routes(self) -> dict[str, tuple[Component, FleetHost]]:
        return {self._url(c, host.address, UP_ROUTES[c]): (c, host) for c, host in self.servers()}

    def _url(self, component: Component, address: str, path: str) -> str:
        return f"http://{address}:{self.ports.status(component)}{path}"

    def _pd_urls(self, path: str) -> list[str]:
        hosts = self.fleet.with_role("pd")
        return [self._url("pd", host.address, f"{API}{path}") for host in hosts]

    def _tidb_urls(self, address: str) -> list[str]:
        return [self._url("tidb", address, path) for path in VERSION_ROUTES["tidb"]]
