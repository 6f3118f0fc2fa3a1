# Reads the search lines of figures.awk. Prints a table of all configurations and modes. Writes to file
# the data of figure 3 of the paper on invocation for gnuplot, one line per configuration: visits and
# completions by mode, of a shared tree and of a sequential search. For the workers of one process it
# takes the figures with calls between them, as the paper does; without calls all modes are the same.

function both(c, mode) {
    if (!((c, mode) in at))
        mode = (c, mode ", calls only") in at ? mode ", calls only" : "no calls"
    return (c, mode) in at ? at[c, mode] : "-\t-"
}
function add_configuration(c) {
    if (!(c in known)) {
        known[c] = 1
        order[++count] = c
    }
}

BEGIN {
    OFS = "\t"
    row = "%-7s %-18s %11s %8s %8s %8s %10s %8s %8s %8s %8s %8s\n"
}
$1 == "search" {
    if (!lines++) {
        print "Tree search (million/s; of one: completions over those of one worker; *: more threads than cores;"
        print "machines x processes of each x threads of each, ones in front left out)"
        printf row, "", "mode", "completions", "visits", "of one", "shared", "sequential", "calls/v", "bytes/v",
            "calls/m", "full", "idle"
    }
    printf row, $2, $3, sprintf("%.3f", $4), sprintf("%.3f", $4 * $5), sprintf("%.2f", $10),
        sprintf("%.3f", $8), sprintf("%.3f", $6), sprintf("%.3f", $11), sprintf("%.1f", $12),
        sprintf("%.2f", $13), sprintf("%.5f", $14), sprintf("%.3f", $15)
    add_configuration($2)
    at[$2, $3] = $4 * $5 OFS $4
    at[$2, "shared"] = $8 * $9 OFS $8
    at[$2, "sequential"] = $6 * $7 OFS $6
    pairs += $16
    outgrown += $17
}
END {
    if (!lines)
        exit
    printf "rings that ever grew: %d of %d pairs, %.3f %% (the paper's: 0.016 %%)\n\n", outgrown, pairs,
        (pairs > 0 ? 100 * outgrown / pairs : 0)
    for (i = 1; i <= count; i++) {
        c = order[i]
        print c, both(c, "batched"), both(c, "spill"), both(c, "write"), at[c, "shared"], at[c, "sequential"] >file
    }
}
