"""Clients and their workloads. A module in this package that has ``NAMES`` is found by presence.

Such a module is all that Benchlab knows of a client. It starts nothing: it makes the commands
that others run, and reads what they printed. It has:

``NAMES``: tuple of str
    The workloads, as report types name them. No other module has the same name.
``READ_ONLY``: frozenset of str
    Those that leave the dataset as they found it, and so need no restore after them.
``DATASET``: class
    The dataset it loads, one of those in ``benchlab.dataset``.
``DATABASE``: str
    The schema that holds the tables. The campaign creates it, empty, before the load.
``TAKES_PASSWORD``: bool
    Whether the client can read a password from a file. Where it cannot, the account it uses has
    none, and the endpoint's password must be empty; the module says how that account is kept to
    itself.
``Endpoint(host, port, user, password, database)``
    Where the client connects: ``benchlab.workloads.client.Endpoint``.
``config_file_text(endpoint) -> str``
    The text of the private file that ``config_path`` names below: the password, as the client
    reads it.
``tables(dataset) -> dict[str, int | None]``
    Every table by name, with its rows after the load; None where they are random.
``prepare_command(endpoint, config_path, dataset, *, threads) -> list[str]``
    Create the tables and load them.
``run_command(workload, endpoint, config_path, dataset, *, threads, seconds, client, ignore_errors)
-> list[str]``
    Measure one workload for ``seconds``. ``client`` is a ``benchlab.spec.Client`` and
    ``ignore_errors`` the server's error numbers that must not end a run; both have a default.
``parse(text) -> output``
    Read what a run printed, stdout and stderr in one text. Takes any text and raises nothing.

Commands are argument lists to be started without a shell, and never have a password in them, for
every user of a host can read its process list. Arguments out of range and a dataset of another
class raise ValueError, which begins with the name of the argument.

An output has the attributes ``status`` (``complete``, ``incomplete`` or ``failed``), ``reasons``
(sentences for an operator, none if complete), ``threads``, ``duration_s``, ``tps``, ``qps``,
``transactions``, ``errors``, ``reconnects``, ``latency_ms`` (``min``, ``avg``, ``p95``, ``max``,
``sum``) and ``series``, whose rows have ``t`` (seconds), ``threads``, ``tps``, ``qps``,
``p95_ms``, ``errors_per_s`` and ``reconnects_per_s``; ``to_json()`` gives the same as an object
that JSON can hold. Rates are per second. What the client does not print is None and never 0. An
output that was cut anywhere is never ``complete``.
"""
