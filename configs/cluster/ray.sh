#!/usr/bin/env bash
# Join this machine to a Ray cluster for SWEQuarry. On the first machine: ray.sh head. On the others: ray.sh HOST:6379.
# Every machine needs `pip install 'swequarry[ray,postgres,s3]'` of one version, git, and the same interpreters.
# Then, on any of them: swequarry run configs/batch.yaml, with the three lines of docs/scaling.md.
set -euo pipefail

role=${1:?usage: ray.sh head | ray.sh HOST:PORT}
# What workers read: tokens and passwords go through the environment of each machine, not through Ray.
: "${GITHUB_TOKENS:=}" "${PGPASSWORD:=}" "${SWEQUARRY_CACHE:=/var/cache/swequarry}"
export GITHUB_TOKENS PGPASSWORD SWEQUARRY_CACHE RAY_USAGE_STATS_ENABLED=0

swequarry doctor
if [ "$role" = head ]; then
  exec ray start --head --port 6379 --disable-usage-stats --block
fi
exec ray start --address "$role" --disable-usage-stats --block
