# Reads callgrind's files, one for each process: the instructions that an object itself executed, and how often it
# started sends and receives.
#   awk -v object=libnagare.so -f scripts/callgrind.awk FILES
# prints one line each for processes that only send, that only receive, and that do both:
#   kind processes sent received instructions

# Names are told once, with a number that stands for them from then on.
function name(names, text,    number) {
    match(text, /\([0-9]+\)/)
    number = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH + 1)
    if (text != "") names[number] = text
    return names[number]
}

function end_of_process(    kind) {
    if (file == "") return
    kind = !sent ? "receives" : !received ? "sends" : "both"
    if (sent || received) {
        processes[kind]++
        all_sent[kind] += sent
        all_received[kind] += received
        all_own[kind] += own
    }
    sent = received = own = ours = inclusive = 0
    split("", objects)
    split("", functions)
}

FNR == 1 { end_of_process(); file = FILENAME }
/^ob=/ { ours = index(name(objects, $0), object) > 0; next }
/^cob=/ { name(objects, $0); next }
/^fn=/ { name(functions, $0); next }
/^cfn=/ { callee = name(functions, $0); next }
/^calls=/ {
    split($0, parts, /[= ]/)
    if (ours && callee ~ /MPI_Iss?end$/) sent += parts[2]
    if (ours && callee ~ /MPI_Irecv$/) received += parts[2]
    # The next line is what the callee costs.
    inclusive = 1
    next
}
/^[0-9+*-]/ {
    if (ours && !inclusive) own += $2
    inclusive = 0
}
END {
    end_of_process()
    for (kind in processes) print kind, processes[kind], all_sent[kind], all_received[kind], all_own[kind]
}
