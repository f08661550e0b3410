"""The shell scripts that :mod:`benchlab.hosts.ssh.executor` runs on a host.

They need a POSIX shell, GNU coreutils, grep and util-linux. Arguments are passed as ``$1``, ``$2``,
..., never inserted into a script's text; only :data:`RUN` is a format string, of quoted parts.
"""

# One compound command: if it is cut off on the way, it is a syntax error and nothing runs. The
# variables are set in a subshell, so that this shell does not carry the campaign's tag. `timeout`
# makes its own process group, which also contains what sudo runs.
RUN = """{{
end() {{
    kill -KILL "$child" "-$child" 2> /dev/null
    [ "$(id -u)" = 0 ] || sudo -n kill -KILL -- "-$child" 2> /dev/null
}}
exec 3<&0
( {exports} exec timeout -s KILL {limit} {command} ) <&3 3<&- &
child=$!
exec 3<&-
trap end TERM
wait "$child" 2> /dev/null
code=$?
[ "$code" != 137 ] || end
exit "$code"
}}
"""

# $1 directory of jobs, $2 job, $3 seconds, $4 wrapper, $5 the command as text, then the command.
START = """
mkdir -p "$1" || exit 1
cd "$1" || exit 1
if ! error=$(mkdir "$2" 2>&1); then
    [ -d "$2" ] && echo there && exit 0
    echo "$error" >&2; exit 1
fi
cd "$2" || exit 1
left=$(($3 * 100)) wrapper=$4
printf '%s\\n' "$5" > command || exit 1
shift 5
setsid --fork sh -c "$wrapper" job "$@" < /dev/null > /dev/null 2>&1 || exit 1
until [ -e pid ] || [ -e exit_code ]; do
    [ "$left" -gt 0 ] || { echo "the job did not begin" >&2; exit 1; }
    left=$((left - 1))
    sleep 0.01
done
echo started
"""

# $1 the job's directory, $2 and $3 the tags of the campaign and of the job.
JOB = """
directory=$1 campaign=$2 job=$3
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
carries() {
    case $1 in ''|*[!0-9]*) return 1 ;; esac
    [ -d "/proc/$1" ] || return 1
    if [ -r "/proc/$1/environ" ]; then by=; else by=as_root; fi
    $by grep -qszxF -e "$campaign" "/proc/$1/environ" &&
        $by grep -qszxF -e "$job" "/proc/$1/environ"
}
program() {
    pid=$(cat "$directory/pid" 2> /dev/null)
    ! carries "$pid" || echo "$pid"
}
tagged() {
    as_root grep -lszxF -e "$job" /proc/[0-9]*/environ 2> /dev/null | while read -r file; do
        pid=${file#/proc/} pid=${pid%/environ}
        ! carries "$pid" || echo "$pid"
    done
}
exit_code() {
    code=$(cat "$directory/exit_code" 2> /dev/null)
    case $code in ''|*[!0-9]*) return 1 ;; esac
    echo "complete $code"
}
state() {
    if [ ! -d "$directory" ]; then echo absent; return; fi
    running=$(program)
    if exit_code; then return; fi
    # Without a program it has just ended, and its wrapper has not yet written the exit code.
    if [ -n "$running" ] || [ -n "$(tagged)" ]; then echo running; return; fi
    exit_code || echo lost
}
"""

_SIGNAL = """
signal() { kill -s "$1" "$2" 2> /dev/null || [ ! -d "/proc/$2" ] || as_root kill -s "$1" "$2"; }
"""

ASK_TO_END = JOB + _SIGNAL + 'pid=$(program); [ -z "$pid" ] || signal TERM "$pid"'

# $4 hundredths of a second until SIGKILL. By the job's status, not its pid: during execve a process
# briefly has no environment to recognize it by.
STOP = (
    JOB
    + _SIGNAL
    + """
now() { read -r up rest < /proc/uptime; echo "${up%.*}${up#*.}"; }
kill_program() {
    # sudo cannot pass SIGKILL on.
    if [ "$(cat "/proc/$1/comm" 2> /dev/null)" = sudo ]; then
        for child in $(cat "/proc/$1/task/$1/children" 2> /dev/null); do signal KILL "$child"; done
    fi
    signal KILL "$1"
}
deadline=$(($(now) + $4)) asked=
while [ "$(state)" = running ]; do
    pid=$(program)
    if [ "$(now)" -gt "$deadline" ]; then
        # The program alone, so that its wrapper can still note how it ended.
        for one in ${pid:-$(tagged)}; do kill_program "$one"; done
    elif [ -n "$pid" ] && [ -z "$asked" ]; then
        signal TERM "$pid"
        asked=yes
    fi
    sleep 0.02
done
"""
)

FORGET = JOB + 'if [ "$(state)" = running ]; then echo running; else rm -rf "$directory"; fi'

# $1 path, $2 umask, $3 bytes. `set -C` creates the file and follows no link; a text cut off on the
# way never replaces a complete file.
PUT = """
mkdir -p "$(dirname "$1")" || exit 1
rm -f "$1.part" || exit 1
umask "$2"
set -C
cat > "$1.part" || exit 1
if [ "$(wc -c < "$1.part")" != "$3" ]; then
    rm -f "$1.part"; echo "the text was cut off on its way" >&2; exit 1
fi
mv -fT "$1.part" "$1"
"""

# $1 path, $2 bytes there already, $3 bytes in this piece, $4 bytes in all. A piece that does not
# begin where the last one ended is refused.
APPEND = """
mkdir -p "$(dirname "$1")" || exit 1
[ "$2" != 0 ] || rm -f "$1.part" || exit 1
there=$(stat -c %s "$1.part" 2> /dev/null || echo 0)
[ "$there" = "$2" ] || { echo "$there bytes are there, not $2" >&2; exit 1; }
cat >> "$1.part" || exit 1
there=$(stat -c %s "$1.part")
[ "$there" = $(($2 + $3)) ] || { echo "the file was cut off on its way" >&2; exit 1; }
[ "$there" != "$4" ] || mv -fT "$1.part" "$1"
"""

# $1 the campaign's tag, $2 hundredths of a second until SIGKILL. Prints how many processes there
# were. Stops only after finding none twice: a process has no environment during execve.
RELEASE = """
now() { read -r up rest < /proc/uptime; echo "${up%.*}${up#*.}"; }
deadline=$(($(now) + $2)) asked=' ' count=0 clean=0
while [ "$clean" -lt 2 ]; do
    found=$(grep -lszxF -e "$1" /proc/[0-9]*/environ)
    clean=$((clean + 1))
    for file in $found; do
        clean=0 pid=${file#/proc/} pid=${pid%/environ}
        if [ "$(now)" -ge "$deadline" ]; then kill -KILL "$pid" 2> /dev/null; fi
        case $asked in *" $pid "*) continue ;; esac
        kill -TERM "$pid" 2> /dev/null
        asked="$asked$pid " count=$((count + 1))
    done
    sleep 0.02
done
echo "$count"
"""
