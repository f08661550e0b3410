"""Parameters that a report type may not set, because they reach beyond the server's settings.

Everybody who may start a campaign can fill in its form, and a server runs as the service's account.

Example:
    ``why("general_log_file", "x")`` is ``"decides which files the server reads or writes"``;
    ``why("innodb_buffer_pool_size", "8G")`` is None.
"""

from __future__ import annotations

import re

_KINDS = {
    "decides which files the server reads or writes": (
        r"(.*_)?(file|filename|\w*dir|\w*dirs|dirname|directory|\w*path|\w*paths|home)"
        r"|log_error|log_basename|log_isam|log_tc|log_bin_index|relay_log(_index)?|language|chroot"
        r"|core_file|symbolic_links|debug(_.*)?|gdb"
    ),
    "loads code or runs a command": r".*plugin.*|wsrep_.*|.*_cmd|backup_hadoop_.*",
    "decides who may log in, or what a login runs": (
        r"user|.*grant_tables?|.*_priv|.*passwords?(_.*)?|.*auth.*|init_(connect|slave)"
        r"|allow_suspicious_udfs|safe_user_create|local_infile|security_.*|mandatory_roles"
    ),
    "decides where the server listens or to whom it speaks": (
        r"(.*_)?(addr|address|urls?|uri|endpoints?|host|port|socket)|(.*_)?networking|ssl(_.*)?"
        r"|tls_.*|require_secure_transport|proxy_.*|feedback(_.*)?|report_(user|host|port)|cors"
        r"|join|initial_cluster.*|dashboard_.*|metric_.*|pd_server_metric_storage"
    ),
    "decides what the server calls itself": r"(server_)?version",
    # TiDB's `store` and `path`, PD's `name`.
    "decides which cluster the server belongs to": r"store|name",
}
# Options that a server also reads by a shorter name: MariaDB takes any unambiguous beginning.
_WHOLE = (
    *("general_log_file", "slow_query_log_file", "log_slow_query_file", "log_error", "init_file"),
    *("plugin_load_add", "plugin_dir", "tmpdir", "datadir", "basedir", "innodb_data_home_dir"),
    *("innodb_tmpdir", "innodb_undo_directory", "innodb_log_group_home_dir", "wsrep_notify_cmd"),
    *("innodb_buffer_pool_filename", "innodb_data_file_path", "innodb_temp_data_file_path"),
    *("secure_file_priv", "grant_tables", "init_connect", "des_key_file", "aria_log_dir_path"),
    *("character_sets_dir", "lc_messages_dir", "slave_load_tmpdir", "relay_log_info_file"),
    *("master_info_file", "ft_stopword_file", "bind_address", "feedback_url", "log_bin_index"),
)
_HARMLESS = {
    *("general_log", "slow_query_log", "log_slow_query", "log_bin", "lc_messages", "innodb"),
    "aria_sync_log_dir",  # when a directory is synchronised, not which
}
_PREFIX = re.compile(r"(skip|disable|enable|maximum|loose|autoset)_")


def why(key: str, value: object, *, short_names: bool = False) -> str | None:
    """Why a parameter may not be set, as the end of a sentence; None if it may.

    Args:
        short_names: whether the server accepts abbreviated names, and prefixes, as MariaDB does.
    """
    names = [re.sub("[-.]", "_", key).lower()]
    while short_names and (prefix := _PREFIX.match(names[-1])):
        names.append(names[-1][prefix.end() :])
    for name in names:
        if name in _HARMLESS:
            continue
        for reason, pattern in _KINDS.items():
            if re.fullmatch(pattern, name):
                return reason
        if short_names and any(whole.startswith(name) for whole in _WHOLE):
            return "is the beginning of an option that may not be set"
    text = str(value)
    if ".." in text or (set(text) & {"/", "\\"} and not re.fullmatch(r"[\w+-]+(/[\w+-]+)*", text)):
        return "has a path for a value"
    return None
