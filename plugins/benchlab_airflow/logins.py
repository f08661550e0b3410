"""How people log in where Airflow's auth manager is FAB: by passwords, or by an OpenID provider.

FAB runs this file where ``AIRFLOW__FAB__CONFIG_FILE`` names it, when the API server starts, and
takes the names in capitals; docs/SECURITY.md has the settings. Without ``BENCHLAB_LOGIN_ISSUER``,
Airflow keeps the passwords itself.

Example:
    ``BENCHLAB_LOGIN_ISSUER=https://login.example.org``, ``BENCHLAB_LOGIN_CLIENT_ID=benchlab``,
    ``BENCHLAB_LOGIN_CLIENT_SECRET_FILE=/run/secrets/login_client_secret``,
    ``BENCHLAB_LOGIN_ROLES={"db-team": ["User"], "leads": ["User", "Approver"]}``
"""

from __future__ import annotations

import json
import logging
from typing import Any, ClassVar, TypeGuard

from airflow.providers.fab.auth_manager.security_manager.override import (
    FabAirflowSecurityManagerOverride,
)
from flask_appbuilder.const import AUTH_DB, AUTH_OAUTH

from benchlab import home
from benchlab.errors import SpecError

PROVIDER = "sso"
log = logging.getLogger(__name__)


def setting(name: str, default: str | None = None) -> str:
    """The setting ``BENCHLAB_LOGIN_<name>``, or the content of the file that it names by ``_FILE``.

    Raises:
        SpecError: it is not set and there is no default, or its file cannot be read.
    """
    if value := home.setting(f"BENCHLAB_LOGIN_{name}") or default:
        return value
    raise SpecError(f"BENCHLAB_LOGIN_{name} is not set, but BENCHLAB_LOGIN_ISSUER is: set both")


def roles_of_groups(text: str) -> dict[str, list[str]]:
    """The roles of each group of the provider.

    Example:
        ``roles_of_groups('{"leads": ["User", "Approver"]}')``

    Raises:
        SpecError: the text is no such JSON.
    """
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(_are_names(roles) for roles in found.values()):
        raise SpecError(
            f"BENCHLAB_LOGIN_ROLES is {text!r}: write JSON that gives each group its roles, such "
            'as {"leads": ["User", "Approver"]}'
        )
    return found


def _are_names(found: object) -> TypeGuard[list[str]]:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


class Logins(FabAirflowSecurityManagerOverride):
    """FAB's roles and an Approver; people of a provider have the roles of their groups there."""

    # Airflow asks for the right to edit a DAG of who answers an approval of it: they can pause it.
    ROLE_CONFIGS: ClassVar = [
        *FabAirflowSecurityManagerOverride.ROLE_CONFIGS,
        {
            "role": "Approver",
            "perms": [
                *FabAirflowSecurityManagerOverride.VIEWER_PERMISSIONS,
                ("can_edit", "DAGs"),
                ("can_edit", "HITL Detail"),
                ("menu_access", "HITL Detail"),
            ],
        },
    ]

    def get_oauth_user_info(self, provider: str, resp: dict[str, Any]) -> dict[str, Any]:
        """What FAB keeps of a person; empty, which refuses them, if no group gives a role."""
        claims = {**self.oauth_remotes[provider].userinfo(token=resp), **resp.get("userinfo", {})}
        name = claims.get(setting("NAME_CLAIM", "preferred_username"))
        groups = claims.get(setting("GROUPS_CLAIM", "groups"))
        mapped = {one for one in self.auth_roles_mapping if _are_names(groups) and one in groups}
        if not name or not mapped:
            log.warning("%r may not log in: none of their groups %r has a role", name, groups)
            return {}
        return {
            "username": name,
            "first_name": claims.get("given_name", ""),
            "last_name": claims.get("family_name", ""),
            "email": claims.get("email", ""),
            "role_keys": sorted(mapped),
        }


SECURITY_MANAGER_CLASS = Logins
AUTH_TYPE = AUTH_DB
if home.setting("BENCHLAB_LOGIN_ISSUER"):
    AUTH_TYPE = AUTH_OAUTH
    # A record is made at the first login; its roles are those of the groups at each login.
    AUTH_USER_REGISTRATION = True
    AUTH_USER_REGISTRATION_ROLE = "Public"  # besides; it has no rights
    AUTH_ROLES_SYNC_AT_LOGIN = True
    AUTH_ROLES_MAPPING = roles_of_groups(setting("ROLES"))
    OAUTH_PROVIDERS = [
        {
            "name": PROVIDER,
            "icon": "fa-sign-in",
            "token_key": "access_token",
            "remote_app": {
                "client_id": setting("CLIENT_ID"),
                "client_secret": setting("CLIENT_SECRET"),
                "server_metadata_url": setting("ISSUER").rstrip("/")
                + "/.well-known/openid-configuration",
                "client_kwargs": {
                    "scope": setting("SCOPES", "openid profile email"),
                    "code_challenge_method": "S256",
                },
            },
        }
    ]
