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
``TOOL``: str
    The name under which ``benchlab parse`` reads its output.
``METRIC``: str
    The metric that decides, one of those in ``benchlab.results.UNITS``.
``PROGRAMS``: tuple of ``benchlab.workloads.client.Program``
    The programs that can run the workloads, the one to be preferred first. Which is used is
    decided on the client's host, once for a campaign; their figures are never compared. Where one
    takes no password, the module says how its account is kept to itself.
``Endpoint(host, port, user, password, database)``
    Where the client connects: ``benchlab.workloads.client.Endpoint``.
``config_file_text(endpoint) -> str``
    The text of the private file that ``config_path`` names below: the password, as the client
    reads it.
``tables(dataset) -> dict[str, int | None]``
    Every table by name, with its rows after the load; None where they are random.
``prepare_command(endpoint, config_path, dataset, *, threads, client) -> list[str]``
    Create the tables and load them.
``run_command(workload, endpoint, config_path, dataset, *, threads, seconds, client, ignore_errors)
-> list[str]``
    Measure one workload for ``seconds``. ``client`` is a ``benchlab.spec.Client`` and
    ``ignore_errors`` the server's error numbers that must not end a run; both have a default.
``warnings(dataset, threads) -> list[str]``
    What a reader of the plan should know of this dataset under so many threads, as sentences.
``CONSISTENCY``: module, only where the dataset has conditions that a sound database keeps
    ``check(query)`` finds how often each is violated, ``statements(dataset)`` is all the SQL of
    it: see ``tpcc_consistency``.
``load_faults(text) -> list[str]``
    What a load printed that went wrong, as sentences; for clients whose exit status says nothing.
``parse(text) -> output``
    Read what a run printed, stdout and stderr in one text. Takes any text and raises nothing.

Commands are argument lists to be started without a shell, and never have a password in them, for
every user of a host can read its process list. Arguments out of range and a dataset of another
class raise ValueError, which begins with the name of the argument.

An output has ``SERIES``, the names of what its intervals have, and the attributes ``status``
(``complete``, ``incomplete`` or ``failed``), ``reasons`` (sentences for an operator, none if
complete), ``threads``, ``duration_s``, ``tps``, ``qps``, ``transactions``, ``errors``,
``reconnects``, ``latency_ms`` (``min``, ``avg``, ``p95``, ``max``, ``sum``) and ``series``.
``samples()`` are the figures that are kept of a trial, by a metric of ``benchlab.results.UNITS``;
``columns(threads, dataset)`` what only this client can tell to the gates of ``configs/quality``;
``unexpected_errors(expected)`` how many of the server's errors were survived that are not
expected; ``to_json()`` what `benchlab parse` prints, as an object that JSON can hold. Rates are
per second. What the client does not print is None and never 0. An output that was cut anywhere is
never ``complete``.
"""
