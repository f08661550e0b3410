#!/usr/bin/env bash
# A campaign as one would write it without Benchlab: the steps of the DAG, in its order.
#
#   campaign.sh DIRECTORY TRIALS
#
# DIRECTORY  is worked in; every trial's output is kept in DIRECTORY/output.
# TRIALS     a file with a line per trial: NAME SIDE WORKLOAD THREADS SECONDS
#
# From the environment: BASELINE and CANDIDATE, the unpacked MariaDB releases; TABLES and ROWS,
# the dataset; WARMUP, in seconds; PARAMETERS, lines for my.cnf.
set -euo pipefail
shopt -s inherit_errexit

directory=$1
trials=$2

host=127.0.0.1
entry=23390
stats=23391
declare -A base=([baseline]=$BASELINE [candidate]=$CANDIDATE)
declare -A port=([baseline]=23410 [candidate]=23420)
declare -A checksum_of=()
sides=(baseline candidate)
server=
balancer=

umask 077
mkdir -p "$directory/output"
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
printf 'mysql-password="%s"\n' "$password" >"$directory/sysbench.cnf"

most_threads=$(cut -d' ' -f4 "$trials" | sort -n | tail -1)
as_root=()
if ((EUID == 0)); then as_root=(--user=root); fi

# ---------------------------------------------------------------- servers

sql() { # SIDE, statements on stdin
    mariadb --defaults-file="$directory/$1/client.cnf" --host=$host --port="${port[$1]}" \
        --protocol=tcp --skip-ssl --batch --skip-column-names
}

wait_until_ready() { # SIDE
    until sql "$1" <<<'SELECT 1' >/dev/null 2>&1; do
        kill -0 "$server"
        sleep 0.05
    done
}

first_of() { # FILE...
    local file
    for file in "$@"; do
        if [[ -x $file ]]; then
            echo "$file"
            return
        fi
    done
    echo "none of these is there: $*" >&2
    return 1
}

start_server() { # SIDE
    local home=${base[$1]} program
    program=$(first_of "$home"/bin/{mariadbd,mysqld})
    LD_LIBRARY_PATH=$home/libs "$program" --defaults-file="$directory/$1/my.cnf" "${as_root[@]}" \
        >>"$directory/$1/server.log" 2>&1 </dev/null &
    server=$!
}

stop_server() {
    if [[ $server ]]; then
        kill "$server"
        wait "$server" || true
        server=
    fi
}

install_db() { # SIDE
    local home=${base[$1]} side=$directory/$1 script
    mkdir -p "$side/data"
    printf '[client]\nuser=root\n' >"$side/client.cnf"
    cat >"$side/my.cnf" <<END
[mysqld]
skip-ssl
skip-name-resolve
basedir=$home
datadir=$side/data
port=${port[$1]}
bind-address=$host
socket=mysql.sock
pid-file=mysql.pid
max_connections=$((most_threads + 50))
$PARAMETERS
END
    script=$(first_of "$home"/scripts/{mariadb-install-db,mysql_install_db})
    LD_LIBRARY_PATH=$home/libs "$script" --no-defaults --basedir="$home" --datadir="$side/data" \
        --skip-name-resolve --auth-root-authentication-method=normal "${as_root[@]}" \
        >"$side/install.log" 2>&1
}

create_account() { # SIDE
    sql "$1" <<END
CREATE DATABASE sbtest;
CREATE USER 'bench'@'$host' IDENTIFIED BY '$password';
GRANT ALL ON *.* TO 'bench'@'$host';
END
    printf '[client]\nuser=bench\npassword=%s\n' "$password" >"$directory/$1/client.cnf"
    # Every other account goes.
    sql "$1" <<<"SELECT CONCAT('DROP USER ''', user, '''@''', host, ''';') FROM mysql.user
        WHERE user NOT IN ('bench', 'mariadb.sys', 'PUBLIC')" | sql "$1"
}

# ---------------------------------------------------------------- load balancer

write_balancer_config() { # SIDE
    cat >"$directory/$1/haproxy.cfg" <<END
global
    maxconn $((most_threads + 100))
    nbthread 1

defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h

listen sql
    bind $host:$entry
    balance roundrobin
    server $1 $host:${port[$1]} check inter 200ms rise 1 fall 2

listen statistics
    mode http
    bind $host:$stats
    stats enable
    stats uri /
END
    haproxy -c -f "$directory/$1/haproxy.cfg" >/dev/null
}

start_balancer() { # SIDE
    haproxy -db -f "$directory/$1/haproxy.cfg" >>"$directory/$1/haproxy.log" 2>&1 </dev/null &
    balancer=$!
    until curl -sS --fail --max-time 5 "http://$host:$stats/;csv" 2>/dev/null |
        grep "^sql,$1,.*,UP,.*L4OK" >/dev/null; do
        kill -0 "$balancer"
        sleep 0.03
    done
}

stop_balancer() {
    if [[ $balancer ]]; then
        kill "$balancer"
        wait "$balancer" || true
        balancer=
    fi
}

# ---------------------------------------------------------------- client

client() { # WORKLOAD PORT THREADS OPTION...
    sysbench "$1" --config-file="$directory/sysbench.cnf" --db-driver=mysql --mysql-host=$host \
        --mysql-port="$2" --mysql-user=bench --mysql-db=sbtest --tables="$TABLES" \
        --table-size="$ROWS" --threads="$3" --rand-type=uniform "${@:4}"
}

run_client() { # WORKLOAD THREADS SECONDS
    client "$1" $entry "$2" --mysql-ignore-errors=1213,1020,1205 --time="$3" --report-interval=1 \
        --percentile=95 --histogram=on run
}

# ---------------------------------------------------------------- dataset

tables() { seq -s ' ' -f "sbtest.sbtest%g" "$TABLES"; }

analyze() { # SIDE
    sql "$1" <<<"ANALYZE TABLE $(tables | sed 's/ /, /g')" >"$directory/$1/analyze.txt"
}

checksum() { # SIDE
    local table
    for table in $(tables); do
        echo "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('#', id, k, c, pad))) FROM $table;"
    done | sql "$1"
}

copy() { rsync -a --delete "$1/" "$2/"; }

# ---------------------------------------------------------------- the campaign

prepare() { # SIDE
    install_db "$1"
    start_server "$1"
    wait_until_ready "$1"
    create_account "$1"
    write_balancer_config "$1"
    client oltp_read_write "${port[$1]}" "$TABLES" prepare >"$directory/$1/load.txt"
    analyze "$1"
    checksum_of[$1]=$(checksum "$1")
    stop_server
    copy "$directory/$1/data" "$directory/$1/snapshot"
}

measure() { # NAME SIDE WORKLOAD THREADS SECONDS
    stop_balancer
    stop_server
    copy "$directory/$2/snapshot" "$directory/$2/data"
    start_server "$2"
    wait_until_ready "$2"
    start_balancer "$2"
    if [[ ${checksum_of[$2]} ]]; then # before a side's first trial
        if [[ $(checksum "$2") != "${checksum_of[$2]}" ]]; then
            echo "$2: the dataset is not the snapshot's" >&2
            exit 1
        fi
        checksum_of[$2]=
    fi
    run_client "$3" "$4" "$WARMUP" >/dev/null
    run_client "$3" "$4" "$5" >"$directory/output/$1.txt"
}

release() { # what an interrupt has ended already is no fault
    set +e
    stop_balancer
    stop_server
    for side in "${sides[@]}"; do
        rm -rf "${directory:?}/$side/data" "${directory:?}/$side/snapshot"
    done
    rm -f "$directory/sysbench.cnf" "$directory"/*/client.cnf
}

trap release EXIT
trap 'exit 1' INT TERM HUP
for side in "${sides[@]}"; do
    prepare "$side"
done
while read -r -u 3 name side workload threads seconds; do
    echo "$name"
    measure "$name" "$side" "$workload" "$threads" "$seconds"
done 3<"$trials"
