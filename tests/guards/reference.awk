# Prints each public name of the headers that it reads: macros, constants, types and functions, one a line.
# With -v internal=1 it prints those that are not for applications in their place.
# It knows them by the first characters of lines, and knows nothing of the comments, except that what follows
# one with "Not for applications" up to a blank line is not public. Nor are names that end with an
# underscore, guards of headers, and macros that the header undefines.

function add(name) {
    if (name != "" && name !~ /_$/ && hidden == internal + 0 && !(name in seen)) {
        seen[name] = 1
        names[++count] = name
    }
}

# The name in front of the first parenthesis that a name of tern's precedes.
function before_parenthesis(text) {
    if (text ~ /\(\*tern_[a-z0-9_]+\)/) match(text, /\(\*tern_[a-z0-9_]+/)
    else if (!match(text, /tern_[a-z0-9_]+\(/)) return ""
    text = substr(text, RSTART, RLENGTH)
    gsub(/[(*]/, "", text)
    return text
}

FNR == 1 { hidden = nothing = body = constants = 0; statement = "" }
/\/\*/ { comment = 1 }
comment && /Not for applications/ { hidden = 1 }
comment && /Nothing in this header is for applications/ { nothing = 1 }
comment {
    was_code = $0 !~ /^ *\/?\*/
    if (/\*\//) comment = 0
    if (!was_code) next
}
/^$/ && !body { hidden = 0 }
nothing { hidden = 1 }
body {
    if (/^}/) body = 0
    next
}
/^ *# *undef / { undefined[$NF] = 1 }
/^ *# *define TERN_/ {
    text = $0
    sub(/^ *# *define /, "", text)
    sub(/[^A-Za-z0-9_].*/, "", text)
    if (text !~ /_H$/) add(text)
}
/^ *#/ || /\\$/ { continued = /\\$/; next }
continued { continued = 0; next }
/^(typedef )?enum/ && /\{/ { constants = !/\}/ }
/^(typedef )?enum.*\{.*\}/ {
    text = $0
    while (match(text, /TERN_[A-Z0-9_]+/)) {
        add(substr(text, RSTART, RLENGTH))
        text = substr(text, RSTART + RLENGTH)
    }
}
/^TERN_ATOMICS\(/ { # the functions of scripts/atomics.awk
    split($0, part, /[(,) ]+/)
    split("fetch_add fetch_and fetch_or fetch_xor swap cas load store", kind, " ")
    for (i = 1; i <= 8; i++) add("tern_atomic_" kind[i] part[3])
    next
}
constants && /^    TERN_/ {
    text = $1
    sub(/[^A-Za-z0-9_].*/, "", text)
    add(text)
}
/^}/ { constants = 0 }
/^(typedef )?(struct|union|enum) tern_[a-z0-9_]+ \{/ {
    text = $0
    sub(/ \{.*/, "", text)
    sub(/.* /, "", text)
    add(text)
}
# Declarations begin at the first column and end with a semicolon or a brace.
/^(TERN_[A-Z_]+|static inline|__attribute__\(\(.*\)\)|typedef|int) / { statement = $0; next_line = 0 }
statement != "" {
    if (next_line) statement = statement " " $0
    next_line = 1
    text = statement
    gsub(/\/\*.*\*\//, "", text)
    if (text ~ /[;{}] *$/) {
        statement = ""
        if (text ~ /^typedef/ && text !~ /[({]/) {
            sub(/;.*/, "", text)
            sub(/.*[ *]/, "", text)
            add(text)
        } else if (text !~ /^typedef (struct|enum|union).*\{$/) {
            sub(/^(TERN_[A-Z_]+ )+/, "", text)
            add(before_parenthesis(text))
            if (text ~ /\{ *$/) body = 1
        }
    }
}
END {
    for (i = 1; i <= count; i++)
        if (!(names[i] in undefined)) print names[i]
}
