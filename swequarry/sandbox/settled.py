"""What every backend gives to a command alike: variables, accounts, names."""

from collections.abc import Mapping

HOME = "/home/sandbox"
BASE_ENVIRONMENT: Mapping[str, str] = {
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "LOGNAME": "sandbox",
    "PATH": "/opt/swequarry/env/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "SHELL": "/bin/sh",
    "USER": "sandbox",
}
"""What every command sees, before its own variables.

No byte code is written: a source that changes within the second and keeps its size would run as it was.
"""

ACCOUNT_FILES: Mapping[str, str] = {
    "passwd": f"root:x:0:0:root:/root:/bin/sh\nsandbox:x:1000:1000:sandbox:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
    "services: files\nprotocols: files\nnetworks: files\n",
    "timezone": "Etc/UTC\n",
}
"""Files of /etc that replace the base's: who uid 1000 is, and that names come from files alone."""

NAME_FILES: Mapping[str, str] = {
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    "hostname": "sandbox\n",
}
"""Files of /etc that give the own host name an address."""
