#!/usr/bin/env bash
# Usage: ./run_mpi.sh [-n RANKS] [CASE.toml] [options of muphy-lb run]
#        ./run_mpi.sh [-n RANKS] VERB [arguments of muphy-lb VERB]
#
# Runs a case on RANKS MPI ranks: one per GPU where nothing else is said, one where there is no GPU. With no case:
# examples/vessel.toml. The first call makes .venv next to this script and installs everything into it.
#
#   MUPHY_PYTHON   a python that has the packages already; then no .venv is made
#   MUPHY_MPIRUN   the mpirun to use; then the MPI of the system is expected to work with mpi4py
set -eu

root=$(dirname "$(readlink -f "$0")")

fail() { echo "run_mpi.sh: $*" >&2; exit 2; }

# The extra whose CUDA wheels the driver and every GPU of this machine can use; nothing without a GPU.
cuda_extra() {
    nvidia-smi --query-gpu=driver_version,compute_cap --format=csv,noheader 2>/dev/null |
        awk -F', *' '$2 + 0 > 0 { found = 1; if ($1 + 0 < 580 || $2 + 0 < 7.5) old = 1 }
                     END { if (found) print (old ? ",cuda12" : ",cuda") }' || true
}

n_gpus() {
    if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
        echo "$CUDA_VISIBLE_DEVICES" | awk -F, '{ print NF }'
    else
        nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true
    fi
}

default_ranks() {
    gpus=$(n_gpus)
    echo "${SLURM_NTASKS:-$((gpus > 1 ? gpus : 1))}"
}

# The mpirun beside python first: another MPI's launcher would start ranks that do not know of each other.
find_launcher() {
    own=$(dirname "$python")/mpirun
    if [ -n "${MUPHY_MPIRUN:-}" ]; then
        command -v "$MUPHY_MPIRUN" || fail "MUPHY_MPIRUN is $MUPHY_MPIRUN; that is no program"
    elif [ -n "${SLURM_JOB_ID:-}" ] && command -v srun; then
        :
    elif [ -x "$own" ]; then
        echo "$own"
    else
        command -v mpirun || fail "no mpirun beside $python nor on PATH; install the extra: pip install 'muphy_lb[mpi]'"
    fi
}

# Open MPI refuses root and more ranks than cores unless told; mpi4py must be told which MPI it is started by.
export_open_mpi_settings() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    export MPI4PY_MPIABI="${MPI4PY_MPIABI:-openmpi}"
}

threads_per_rank() {
    cores=$(($(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) * ${SLURM_JOB_NUM_NODES:-1}))
    echo $((cores > ranks ? cores / ranks : 1))
}

ranks=""
words=()
while [ $# -gt 0 ]; do
    case $1 in
        -n) ranks=${2:-none}; shift; [ $# -eq 0 ] || shift ;;
        *) words+=("$1"); shift ;;
    esac
done
set -- ${words[@]+"${words[@]}"}

case ${1:-} in
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$root/run_mpi.sh"; exit ;;
    "" | -*) set -- run "$root/examples/vessel.toml" "$@" ;;
    */* | *.*) set -- run "$@" ;;
esac
ranks=${ranks:-$(default_ranks)}
case $ranks in
    0* | *[!0-9]*) fail "-n is $ranks; it must be a whole number of ranks, 1 or more" ;;
esac

python=$("$root/scripts/bootstrap" "mpi$(cuda_extra)")
launcher=$(find_launcher)
if "$launcher" --version 2>&1 | grep -qiE 'open.?mpi'; then
    export_open_mpi_settings
elif [ "$(basename "$launcher")" = srun ] && [ -x "$(dirname "$python")/mpirun" ]; then
    export SLURM_MPI_TYPE="${SLURM_MPI_TYPE:-pmi2}" # what the MPICH wheel speaks
fi
if [ -t 1 ] && [ -t 2 ] && [ "$(basename "$launcher")" != srun ]; then # which hands on whole lines only
    MUPHY_TERMINAL=$(stty size <&2 | cut -d ' ' -f 2)
    export MUPHY_TERMINAL # to the ranks, mpirun is a pipe
fi
export NUMBA_NUM_THREADS="${NUMBA_NUM_THREADS:-$(threads_per_rank)}"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}" PYTHONSAFEPATH=1 # nothing of the caller's folder

set -- "$launcher" -n "$ranks" "$python" -m muphy_lb "$@"
echo "NUMBA_NUM_THREADS=$NUMBA_NUM_THREADS $(printf '%q ' "$@")" >&2
exec "$@"
