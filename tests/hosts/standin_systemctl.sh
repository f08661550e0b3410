#!/bin/sh
# A stand-in for systemctl on a test host, as far as TiUP's units need it. They have Restart=always
# and RestartSec=15s (TiUP's embed/templates/systemd/system.service.tpl): a server that dies runs
# again 15 s later, unless its unit is stopped. Until then the unit is `activating`. Tests only.
set -eu
for unit; do :; done # the last argument
file=/etc/systemd/system/$unit keeper=/run/standin-$unit
value() { sed -n "s/^$1=//p" "$file"; }
server() {
    pid=$(cat "$(value WorkingDirectory)/pid" 2> /dev/null) && kill -0 "$pid" 2> /dev/null
}
stamp() { TZ=UTC date '+%a %Y-%m-%d %H:%M:%S UTC' > "$keeper.$1"; }
halt() {
    [ -e "$file" ] || return 0
    if [ -e "$keeper" ]; then
        kill "$(cat "$keeper")" 2> /dev/null || :
        rm -f "$keeper"
    fi
    if server; then
        # systemd has a stopped process handle it, too (`kill_and_sigcont` in its src/basic).
        kill "$pid" && kill -CONT "$pid" 2> /dev/null || :
        while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
        rm -f "$(value WorkingDirectory)/pid"
        stamp exit
    fi
}
case $1 in
start)
    if [ -e "$keeper" ] && server; then exit 0; fi
    halt
    setsid -f "$0" keep "$unit" < /dev/null > /dev/null 2>&1
    ;;
keep)
    cd /
    echo $$ > "$keeper"
    home=$(value WorkingDirectory) user=$(value User) after=$(value RestartSec)
    while :; do
        # As under systemd: a child of process 1, in a session of its own.
        USER=$user LOGNAME=$user setsid -f setpriv --reuid "$user" --regid "$user" --init-groups \
            sh -c "cd $home && echo \$\$ > pid && $(value ExecStart)" < /dev/null > /dev/null 2>&1
        stamp enter
        rm -f "$keeper.ended"
        sleep 1
        while pid=$(cat "$home/pid") && kill -0 "$pid"; do sleep 1; done 2> /dev/null
        stamp exit
        : > "$keeper.ended"
        sleep "$after"
    done
    ;;
stop) halt ;;
disable) case " $* " in *" --now "*) halt ;; esac ;;
show)
    if [ ! -e "$keeper" ]; then state=inactive; elif server; then state=active; else state=activating; fi
    case " $* " in
    *MainPID*) if server; then echo "$pid"; else echo 0; fi; exit ;;
    *" --value "*) echo "$state"; exit ;;
    esac
    # systemd knows at once that a server ended; the keeper looks every second.
    while [ "$state" = activating ] && [ ! -e "$keeper.ended" ]; do sleep 0.1; done
    echo "ActiveState=$state"
    for moment in Enter Exit; do
        file=$keeper.$(echo "$moment" | tr EX ex)
        echo "Active${moment}Timestamp=$(cat "$file" 2> /dev/null)"
    done
    ;;
esac
