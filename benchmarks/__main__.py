"""`make bench`: every figure that this machine can give, in its sampled form.

Figures on real repositories need them: name a path template of mirrors with SWEQUARRY_MIRROR and a dataset
with SWEQUARRY_ROWS. What isn't named is said, not skipped in silence.
"""

import os
import subprocess
import sys


def main() -> None:
    """Run each benchmark in its own process; the worst exit status is ours."""
    mirror, rows = os.environ.get("SWEQUARRY_MIRROR"), os.environ.get("SWEQUARRY_ROWS")
    commands = [["benchmarks.overhead", "--sample"]]
    if mirror and rows:
        place = ["--mirror", mirror, "--workspace", "build/bench-rows"]
        commands.append(["benchmarks.rows", "--rows", rows, "--sample", "20", *place])
    else:
        print("left out: benchmarks.rows, benchmarks.history; set SWEQUARRY_MIRROR and SWEQUARRY_ROWS")
    statuses = [subprocess.run([sys.executable, "-m", *words], check=False).returncode for words in commands]
    sys.exit(max(statuses))


if __name__ == "__main__":
    main()
