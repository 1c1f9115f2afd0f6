# What ran, from the report of NAGARE_REPORT: "alltoall: xor; reduce: stock (below threshold)".
BEGIN { FS = "\"" }
/"collective"/ { collective = $4 }
/"algorithm"/ { algorithm = $4; reason = "" }
/"reason"/ { reason = " (" $4 ")" }
/"min_bytes"/ { out = out (out == "" ? "" : "; ") collective ": " algorithm reason }
# What follows counts the same calls by size.
/"sizes"/ { exit }
END { print out }
