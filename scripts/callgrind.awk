# Reads callgrind's files, one for each process: the instructions that an object itself executed, how often it started
# sends and receives, and how often it looked for messages in vain, with the instructions of that.
#   awk -v object=libnagare.so -f scripts/callgrind.awk FILES
# prints one line each for processes that only send, that only receive, that do both, and neither:
#   kind processes sent received instructions looks instructions-in-vain
# and with -v inside=REGEX, last, the instructions of functions of that name with all that they call.

# Names are told once, with a number that stands for them from then on.
function name(names, text,    number) {
    match(text, /\([0-9]+\)/)
    number = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH + 1)
    if (text != "") names[number] = text
    return names[number]
}

# What a process does from the first look in vain to the one that finds something (src/transport/completion.rs).
function waits(called) {
    return called ~ /MpiTransport.*::(wait|pause)$|Patience::|thread::.*sleep/
}

function end_of_process(    kind) {
    if (file == "") return
    kind = !sent && !received ? "neither" : !sent ? "receives" : !received ? "sends" : "both"
    processes[kind]++
    all_sent[kind] += sent
    all_received[kind] += received
    all_own[kind] += own
    all_looks[kind] += looks
    all_vain[kind] += vain
    all_within[kind] += within
    sent = received = own = ours = inclusive = looks = vain = within = 0
    split("", objects)
    split("", functions)
}

FNR == 1 { end_of_process(); file = FILENAME }
/^ob=/ { ours = index(name(objects, $0), object) > 0; next }
/^cob=/ { name(objects, $0); next }
/^fn=/ { waiting = waits(name(functions, $0)); next }
/^cfn=/ { callee = name(functions, $0); next }
/^calls=/ {
    split($0, parts, /[= ]/)
    if (ours && callee ~ /MPI_Iss?end$/) sent += parts[2]
    if (ours && callee ~ /MPI_Irecv$/) received += parts[2]
    if (ours && waiting && callee ~ /MPI_Testsome$/) looks += parts[2]
    # The next line is what the callee costs.
    inclusive = 1
    counts = inside != "" && ours && callee ~ inside
    next
}
/^[0-9+*-]/ {
    if (ours && !inclusive && waiting) vain += $2
    if (ours && !inclusive && !waiting) own += $2
    if (inclusive && counts) within += $2
    inclusive = 0
}
END {
    end_of_process()
    for (kind in processes)
        print kind, processes[kind], all_sent[kind], all_received[kind], all_own[kind], all_looks[kind], \
            all_vain[kind] (inside == "" ? "" : " " all_within[kind])
}
