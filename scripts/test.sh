#!/usr/bin/env bash
# Builds what the tests need, runs them, and tells at the end what failed: a part that fails does not hide the next.
#   scripts/test.sh          what runs before a change lands
#   scripts/test.sh --all    the rest as well: tests marked as ignored, which take long
# MPICC names the compiler wrapper with which the tests themselves are built. The output of every part stays in
# target/test-logs.
set -uo pipefail
cd "$(dirname "$0")/.."
ignored=()
if [[ ${1-} == --all ]]; then
    ignored=(--include-ignored)
    # Every case of tests that otherwise run a part of them, and of properties three times as many.
    export TEST_ALL=yes MUTATE_TIMES=3
fi

export logs=$PWD/target/test-logs
rm -rf "$logs"
mkdir -p "$logs"
export TEST_FAULTS=$logs/faults
# More tests at once than the harness lets jobs run: there is always one that is ready.
export RUST_TEST_THREADS=$(($(nproc) + 2))
touch "$TEST_FAULTS"

# part NAME DIRECTORY COMMAND...: runs it, and notes and prints in one piece how it went; its output is printed if it
# failed. What has no test results of cargo's in its output counts as one test.
part() {
    local name=$1 directory=$2 start=$SECONDS log=$logs/$1.log status counts cpu text
    shift 2
    (
        cd "$directory" && CARGO_MANIFEST_DIR=$directory "$@"
        status=$?
        times >&3
        exit $status
    ) >"$log" 2>&1 3>"$log.times" </dev/null
    status=$?
    # What all children have computed, user and system, as 1m2.345s each.
    cpu=$(awk -F '[ms ]+' 'NR == 2 { print int(60 * ($1 + $3) + $2 + $4) }' "$log.times")
    counts=$(awk -F '[.; ]+' '/^test result: / {
            for (i = 2; i <= NF; i++) { if ($i == "passed") p += $(i - 1); if ($i == "failed") f += $(i - 1) }
            n++
        }
        END { if (n) print p + 0, f + 0 }' "$log")
    [[ -n $counts ]] || counts=$([[ $status -eq 0 ]] && echo "1 0" || echo "0 0")
    # A program that ends before it has counted.
    [[ $status -eq 0 || $counts != *" 0" ]] || counts="${counts% *} 1"
    echo "$name $counts" >>"$logs/results"
    text=$(printf '%5d s %5d s  %s: %d passed, %d failed' $((SECONDS - start)) "${cpu:-0}" "$name" $counts)
    [[ $status -eq 0 ]] || text+=$'\n'$(<"$log")
    echo "$text"
    return "$status"
}
export -f part

# A line NAME DIRECTORY PROGRAM of every test program, as cargo tells where it has put them.
programs() {
    local manifest='.*"manifest_path":"([^"]*)\/Cargo.toml",'
    local target='"target":\{"kind":\["([a-z-]+)"\].*"name":"([^"]+)".*'
    local test='"profile":\{[^}]*"test":true\}.*' executable='"executable":"([^"]+)"'
    cargo test --no-run --workspace --target-dir target --message-format=json-render-diagnostics |
        sed -nE "s/$manifest$target$test$executable.*/\1 \2 \3 \4/p" |
        while read -r directory kind name program; do
            [[ $directory == "$PWD" ]] && crate=nagare || crate=nagare-${directory##*/}
            echo "$crate-$kind-$name $directory $program"
        done
}

compile() {
    programs >"$logs/programs" && cargo build --workspace --bin nagare-verify --target-dir target &&
        [[ -s $logs/programs ]]
}

# The tests that start jobs of MPI are a part alone, first: ranks that wait yield, so that whatever else computes takes
# their processors, and jobs that last a second last a minute.
parts() {
    # A blank at the end of a line would join the next one to it.
    sort -k2,2 -k1,1 "$logs/programs" | sed "s/\$/${ignored[*]/#/ }/" >"$logs/sorted"
    grep "^nagare-test-jobs " "$logs/sorted"
    # The long ones first, so that no processor is left without work at the end; those that start jobs of MPI too are
    # not all at once.
    verify conformance
    grep -v "^nagare-test-jobs " "$logs/sorted" | grep -e -test-
    verify soak
    grep -v -e -test- "$logs/sorted"
    verify fuzz
    echo "doctests $PWD ${CARGO:-cargo} test --workspace --doc --target-dir target"
}

# A line of the quick run of a command that runs programs of MPI.
verify() {
    echo "$1 $PWD $PWD/target/debug/nagare-verify $1 --quick"
}

echo "   wall   cores"
part python-mpis "$PWD" scripts/python-mpis.sh &
# Beside the tests: the last crates of a build leave cores without work.
part libraries "$PWD" make --no-print-directory libraries &
part compilation "$PWD" bash -c "$(declare -f programs compile); set -o pipefail; compile"
wait
start=$SECONDS
# run N: the parts of standard input, N at a time. A part that is killed makes xargs stop before those that are left;
# one that fails does not (123).
run() {
    xargs -P "$1" -L 1 bash -c 'part "$@"' part
    [[ $? -le 123 ]] || echo "parts 0 1" >>"$logs/results"
}
parts | head -n 1 | run 1
# More than there are cores where these are few: parts wait as well, for packets and for children.
parts | tail -n +2 | run 3

echo
echo "$((SECONDS - start)) s of tests, $SECONDS s with what was built for them"
sort "$TEST_FAULTS"
echo "faults of other libraries, each answered by a second run: $(wc -l <"$TEST_FAULTS")"
awk '$3 > 0 { print "failed: " $1 " (target/test-logs/" $1 ".log)" }' "$logs/results"
awk '{ passed += $2; failed += $3 }
    END { printf "tests: %d passed, %d failed\n", passed, failed; exit failed > 0 }' "$logs/results"
