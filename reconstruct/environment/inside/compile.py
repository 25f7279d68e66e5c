"""Compiles the installed packages, with the same file times in every environment.

    python compile.py ENVIRONMENT SITE_PACKAGES...

Runs see the environment read-only, so what isn't compiled now is compiled by each of them anew. Byte code
names the time of its source; where that is the hour of the installation, no two environments have a file of
it in common. Standard library only, Python 3.6 on.
"""

import json
import os
import subprocess
import sys

MOMENT = 315619200
"""2 January 1980: zip archives know no earlier day in any time zone."""
SELDOM_IMPORTED = r"/site-packages/(pip|wheel|setuptools)/|/tests?/"


def main(environment, folders):
    """Settle times, compile, and settle the times of what was compiled; report the compiler's status."""
    settle(environment)
    argv = [sys.executable, "-I", "-m", "compileall", "-q", "-j", "2", "-x", SELDOM_IMPORTED]
    status = subprocess.call(argv + folders)
    settle(environment)
    os.write(3, json.dumps(status).encode("ascii"))


def settle(folder):
    """Give every file one time; links aren't followed."""
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                os.utime(path, (MOMENT, MOMENT))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
