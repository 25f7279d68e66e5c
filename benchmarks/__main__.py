"""`make bench`: the figures that need no arguments, in their sampled form.

The yield on a dataset needs it: name a path template of mirrors with SWEQUARRY_MIRROR and the dataset with
SWEQUARRY_ROWS. What is left out is said, not skipped in silence.
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
        print("left out: benchmarks.rows; set SWEQUARRY_MIRROR and SWEQUARRY_ROWS")
    print("left out: all others; they want arguments or a quiet machine, see benchmarks/README.md")
    statuses = [subprocess.run([sys.executable, "-m", *words], check=False).returncode for words in commands]
    sys.exit(max(statuses))


if __name__ == "__main__":
    main()
