# Reads the cells of figures.awk and prints how often the cost model chose the faster path, over all
# transports and hosts. A cell counts if the paths differ by more than the spread and no rank shared a
# core with another.
BEGIN { FS = "\t" }
$1 != "cell" { next }
{ cells[$2]++; cells["all"]++ }
$10 == "counts" {
    for (i = 1; i <= 2; i++) {
        at = i == 1 ? $2 : "all"
        counted[at]++
        right[at] += $8 == $9
        rma[at] += $8 == "rma"
        call[at] += $8 == "call"
    }
}
$10 == "counts" && $8 != $9 {
    wrong = wrong sprintf("  %-10s %-45s by RMA %.0f ns (model %.0f), by call %.0f ns (model %.0f)\n", \
        $2, $3, $4, $5, $6, $7)
}
function line(at) {
    printf "%-12s %6d %8d %6d %10d %12d\n", at, cells[at], counted[at], right[at], rma[at], call[at]
}
function met(is, least) { return is >= least ? "met" : "MISSED" }
END {
    printf "%-12s %6s %8s %6s %10s %12s\n", "", "cells", "counted", "right", "RMA faster", "calls faster"
    split("shm,rma,p2p,shm+rma,shm+p2p,two hosts", places, ",")
    for (i = 1; i in places; i++)
        if (cells[places[i]])
            line(places[i])
    line("all")
    n = counted["all"]
    if (n == 0)
        exit
    if (wrong)
        printf "wrong in:\n%s", wrong
    printf "The model is right in %.0f %% of the cells that count (90 is asked for): %s.\n", \
        100 * right["all"] / n, met(right["all"], 0.9 * n)
    least = rma["all"] < call["all"] ? rma["all"] : call["all"]
    printf "RMA is faster in %.0f %% of them, calls in %.0f %% (each 25): %s.\n", \
        100 * rma["all"] / n, 100 * call["all"] / n, met(least, n / 4)
    for (i = 1; i <= 6; i++)
        if (places[i] !~ /\+/ && !cells[places[i]])
            printf "There are no cells of %s.\n", places[i]
}
