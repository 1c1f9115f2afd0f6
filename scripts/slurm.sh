#!/usr/bin/env bash
# Runs a command on a Slurm cluster of this machine's own: a controller and a daemon on every host of a testbed, ended
# with the command. For tests; needs root and Debian's slurmctld, slurmd, slurm-client and munge.
#
#   scripts/slurm.sh FABRIC COMMAND...
#
#   PLUGIN    what stands behind `optional` in plugstack.conf, such as 'FILE default=on'; unless set, no plugin
#   SWITCHES  a topology.conf; unless set, hosts without a topology
#   NAGARE    the command (target/release/nagare)
#   LOGS      a directory that gets the daemons' logs
#
# In the command's environment SLURM_CONF names the configuration, and OMPI_MCA_* and UCX_* the links of the testbed.
# Beside SLURM_CONF a file `prologs` has a line `NAME=LD_PRELOAD` for each Prolog, Epilog, TaskProlog and TaskEpilog.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
usage="usage: scripts/slurm.sh FABRIC COMMAND..."
fabric=${1:?$usage}
shift
[[ $# -gt 0 ]] || { echo "$usage" >&2; exit 2; }
nagare=${NAGARE:-$top/target/release/nagare}
PATH=$PATH:/usr/sbin
for program in munged slurmctld slurmd srun; do
    type -P "$program" >/dev/null ||
        { echo "slurm.sh: no $program: apt-get install slurmctld slurmd slurm-client munge" >&2; exit 2; }
done

# Not below /tmp: every host has one of its own.
work=$(mktemp -d -p /var/tmp)
chmod 755 "$work"
bed=
finish() {
    [[ -z $bed ]] || "$nagare" testbed down "$bed" >/dev/null || true
    # shellcheck disable=SC2046 # one word for each log
    [[ -z ${LOGS-} ]] || cp $(ls "$work"/*.log) "$LOGS"
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
bed=$("$nagare" testbed up "$fabric" 2>"$work/up" | awk '{ print $1; exit }') || { cat "$work/up" >&2; exit 1; }

at() { # the place of the launcher, or a host: everything ends with the testbed
    "$nagare" testbed exec "$bed" "$@"
}
mapfile -t hosts < <(at -- cat /etc/hosts | awk '$1 ~ /^10\.254\./ && $2 !~ /launcher/ { print $2 }')
control=$(at -- hostname)
address=$(at -- cat /etc/hosts | awk -v name="$control" '$2 == name { print $1; exit }')

head -c 1024 /dev/urandom >"$work/key"
chmod 400 "$work/key"
{
    echo "ClusterName=nagare
SlurmctldHost=$control($address)
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
PlugStackConfig=$work/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none"
    for prolog in Prolog Epilog TaskProlog TaskEpilog; do
        echo "$prolog=$work/$prolog"
        # shellcheck disable=SC2016 # a word of that script
        printf '#!/bin/sh\necho "%s=$LD_PRELOAD" >>%q\n' "$prolog" "$work/prologs" >"$work/$prolog"
        chmod 755 "$work/$prolog"
    done
    [[ -z ${SWITCHES-} ]] || echo "TopologyPlugin=topology/tree"
    for host in "${hosts[@]}"; do
        echo "NodeName=$host NodeAddr=$(at -- cat /etc/hosts | awk -v name="$host" '$2 == name { print $1; exit }') CPUs=4"
    done
    echo "PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES"
} >"$work/slurm.conf"
# None is used; slurmd wants to know which kind all the same.
echo "CgroupPlugin=cgroup/v1" >"$work/cgroup.conf"
[[ -z ${SWITCHES-} ]] || cp "$SWITCHES" "$work/topology.conf"
echo "${PLUGIN:+optional $PLUGIN}" >"$work/plugstack.conf"
mkdir "$work/state"

export SLURM_CONF=$work/slurm.conf
at -- munged --foreground --force --key-file="$work/key" --socket="$work/munge.socket" --pid-file="$work/munged.pid" \
    --log-file="$work/munged.log" --seed-file="$work/seed" </dev/null >"$work/munged.out.log" 2>&1 &
for _ in {1..100}; do [[ -S $work/munge.socket ]] && break || sleep 0.1; done
at -- slurmctld -D -f "$work/slurm.conf" </dev/null >"$work/slurmctld.out.log" 2>&1 &
for host in "${hosts[@]}"; do
    mkdir -m 1777 "$work/tmp.$host"
    # A /tmp of its own, where a checkout that is below /tmp has its place all the same.
    shared=
    [[ $top != /tmp/* ]] || { shared=$work/tmp.$host/${top#/tmp/} && mkdir -p "$shared"; }
    # shellcheck disable=SC2016 # words of the inner shell
    at --on "$host" -- unshare --mount sh -c \
        '[ -z "$3" ] || mount --bind "$2" "$3" && mount --rbind "$1" /tmp && shift 3 && exec "$@"' \
        sh "$work/tmp.$host" "$top" "$shared" \
        slurmd -D -f "$work/slurm.conf" -N "$host" </dev/null >"$work/slurmd.$host.out.log" 2>&1 &
done
# Every daemon has registered.
idle=0
for _ in {1..600}; do
    idle=$(at -- sinfo -h -t idle -o %D 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')
    [[ $idle -lt ${#hosts[@]} ]] || break
    sleep 0.1
done
[[ $idle -eq ${#hosts[@]} ]] || { echo "slurm.sh: $idle of ${#hosts[@]} hosts came up" >&2; tail -n 5 "$work"/*.log >&2; exit 1; }

# Not in the foreground, where bash would wait for its end before it takes a signal.
status=0
at -- env OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=10.1.0.0/16 \
    OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 UCX_NET_DEVICES=data0 UCX_TLS=tcp,sm,self "$@" &
wait $! || status=$?
exit "$status"
