# Prints the points of one figure (-v figure=...) as a table: a row for each label of the x axis, a column
# for each series, "-" where there is no point. With -v plain=1 the columns are aligned for people; else
# the table is for gnuplot, with quoted names.
BEGIN { FS = "\t" }
$1 != "point" || $2 != figure { next }
{
    if (!($3 in column)) {
        series[++columns] = $3
        column[$3] = columns
    }
    if (!($4 in sorted)) {
        rows++
        sorted[$4] = $5
        for (at = rows; at > 1 && sorted[row[at - 1]] > $5 + 0; at--)
            row[at] = row[at - 1]
        row[at] = $4
    }
    ns[$4, $3] = $6
}
function quoted(text) { return "\"" text "\"" }
END {
    if (plain) {
        printf "%-36s", ""
        for (r = 1; r <= rows; r++)
            printf " %12s", row[r]
        printf "\n"
        for (c = 1; c <= columns; c++) {
            printf "%-36s", series[c]
            for (r = 1; r <= rows; r++)
                printf " %12s", (row[r], series[c]) in ns ? sprintf("%.4g", ns[row[r], series[c]]) : "-"
            printf "\n"
        }
        exit
    }
    printf "x"
    for (c = 1; c <= columns; c++)
        printf " %s", quoted(series[c])
    printf "\n"
    for (r = 1; r <= rows; r++) {
        printf "%s", quoted(row[r])
        for (c = 1; c <= columns; c++)
            printf " %s", (row[r], series[c]) in ns ? ns[row[r], series[c]] : "-"
        printf "\n"
    }
}
