"""By which address others see this machine, and what is said when hosts do not let it in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchlab.hosts import own_address
from benchlab.hosts.fleet import FleetHost

RENTED = FleetHost(
    *("tikv-1", ("tikv",), "172.31.0.9", "198.51.100.4", "admin", "ssh-ed25519 A", Path("/data")),
    let_in="203.0.113.7/32",
)


def test_a_machine_whose_address_has_changed_is_told_so_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both addresses, and what needs no login; nothing where the address is let in or not known."""
    monkeypatch.setattr(own_address, "public", lambda: "203.0.113.7")
    assert own_address.shut_out(RENTED, "c1") == ""
    monkeypatch.setattr(own_address, "public", lambda: "198.51.100.9")
    said = own_address.shut_out(RENTED, "c1")
    for part in ("198.51.100.9 now", "let in 203.0.113.7/32 alone", "`benchlab give-back c1`"):
        assert part in said
    assert own_address.shut_out(replace(RENTED, let_in=None), "c1") == ""

    def silent() -> str:
        raise OSError

    monkeypatch.setattr(own_address, "public", silent)
    assert own_address.shut_out(RENTED, "c1") == ""


def test_hosts_in_a_network_of_their_own_see_another_address() -> None:
    """The one from which they are called; nobody on the internet is asked."""
    near = replace(RENTED, address="127.0.0.5", ssh_address="127.0.0.5", let_in="127.0.0.0/8")
    assert own_address.towards("127.0.0.5") == "127.0.0.1"
    assert own_address.shut_out(near, "c1") == ""
    assert "address is 127.0.0.1 now" in own_address.shut_out(
        replace(near, let_in="10.0.0.0/8"), "c1"
    )
