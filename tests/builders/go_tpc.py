"""A stand-in for go-tpc: its options and its output, by Benchlab's script for sysbench."""

from __future__ import annotations

from pathlib import Path

from benchlab.workloads import tpcc

# An option that go-tpc does not know ends it with exit code 0, as in the recorded
# tests/golden/tpcc/gotpc_err_unknown_flag.txt. What Benchlab always gives has no default here.
_TEXT = f"""#!/bin/bash
set -euo pipefail
[[ $1 != version ]] || {{ echo "Release version: v1.0.12"; exit; }}
declare -A given
for option in "${{@:3}}"; do
    name=${{option%%=*}} name=${{name#--}}
    case $2/$name in
    */host | */port | */user | */db | */warehouses | */threads) ;;
    prepare/no-check | run/time | run/interval | run/ignore-error) ;;
    *) echo "Error: unknown flag: --$name"; exit ;;
    esac
    given[$name]=${{option#*=}}
done
time=${{given[time]:-0s}} interval=${{given[interval]:-10s}}
exec sysbench {tpcc.SCRIPT} --db-driver=mysql --mysql-host="${{given[host]}}" \\
    --mysql-port="${{given[port]}}" --mysql-user="${{given[user]}}" --mysql-db="${{given[db]}}" \\
    --warehouses="${{given[warehouses]}}" --threads="${{given[threads]}}" \\
    --time="${{time%s}}" --report-interval="${{interval%s}}" \\
    ${{given[ignore-error]:+--mysql-ignore-errors=1213,1020,1205}} "$2"
"""


def install(program: Path) -> None:
    """Make the stand-in an executable file; it runs where this project lies at the same path."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_TEXT)
    program.chmod(0o755)
