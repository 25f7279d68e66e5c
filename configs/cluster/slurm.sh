#!/usr/bin/env bash
#SBATCH --job-name=swequarry
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem-per-cpu=5G
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@300
# One Ray head and a worker on every node of the allocation; the run is the job's own command:
#   sbatch configs/cluster/slurm.sh configs/batch.yaml
# Five minutes before the end of the allocation Slurm sends TERM: what runs is finished, and the same job goes on later.
set -euo pipefail

config=${1:?usage: sbatch slurm.sh CONFIG}
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
port=6379
export RAY_USAGE_STATS_ENABLED=0 SWEQUARRY_CACHE=${SWEQUARRY_CACHE:-/tmp/swequarry-$USER}

start() { # node, words of `ray start`
  srun --nodes=1 --ntasks=1 --nodelist="$1" --overlap \
    ray start "${@:2}" --num-cpus "$SLURM_CPUS_PER_TASK" --disable-usage-stats --block &
}

start "$head" --head --node-ip-address "$head" --port "$port"
sleep 20
for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST" | tail -n +2); do
  start "$node" --address "$head:$port"
done

export RAY_ADDRESS="$head:$port"
swequarry run "$config" --quiet &
run=$!
trap 'kill -TERM "$run"' TERM
wait "$run" || wait "$run" # the first `wait` ends with the signal, the second with the run
