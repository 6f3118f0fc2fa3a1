# Makes man pages of the public headers that it reads, for scripts/man.
# A comment and the declarations behind it, up to a blank line, become a page that has the name of the first of
# them; the others, and the constants of an enumeration, lead there. The comment at the top of a header becomes
# the page tern_<header>, with a list of the header's pages, to which all of these refer. A declaration
# behind a comment with "Not for applications" has no page, and neither has one without a comment.

function brief_of(text) {
    if (match(text, /[.]( |$)/)) text = substr(text, 1, RSTART - 1)
    return text
}

# Returns a line of prose or code as troff reads it.
function troff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/) text = "\\\\&" text
    return text
}

# Names of tern in bold.
function bold(text,    out, name) {
    while (match(text, /[A-Za-z0-9_]*(tern|TERN)_[A-Za-z0-9_]+|`[^`]+`/)) {
        name = substr(text, RSTART, RLENGTH)
        out = out substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        if (name ~ /^(tern|TERN|`)/) {
            gsub(/`/, "", name)
            name = "\\fB" name "\\fP"
        }
        out = out name
    }
    return out text
}

# Returns the comment as lines of prose, without the signs of a comment.
function plain(line) {
    sub(/^ *\/\*+ ?/, "", line)
    sub(/ *\*+\/ *$/, "", line)
    sub(/^ *\*( |$)/, "", line)
    return line
}

function format_comment(    i, out, line, code, open) {
    for (i = 1; i <= lines; i++) {
        line = plain(comment[i])
        code = line ~ /^    /
        if (line == "") {
            if (out != "" && !open) out = out ".PP\n"
            if (open) out = out "\n"
            continue
        }
        if (code && !open) out = out ".RS 4\n.nf\n"
        if (!code && open) {
            sub(/\n+$/, "\n", out)
            out = out ".fi\n.RE\n.PP\n"
        }
        open = code
        if (code) sub(/^    /, "", line)
        out = out (code ? troff(line) : bold(troff(line))) "\n"
    }
    if (open) out = out ".fi\n.RE\n"
    return out
}

function summary(    i, line, text) {
    for (i = 1; i <= lines; i++) {
        line = plain(comment[i])
        if (line == "" && text != "") break
        if (line != "") text = text (text == "" ? "" : " ") line
    }
    gsub(/`/, "", text)
    return brief_of(text)
}

function mentioned(text,    name) {
    delete refers
    ref_count = 0
    while (match(text, /(tern|TERN)_[A-Za-z0-9_]+/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (!(name in refers)) {
            refers[name] = 1
            refer[++ref_count] = name
        }
    }
}

# Makes a page of what the last comment has documented so far.
function finish(    i, text) {
    if (declared > 0 && lines > 0) {
        pages++
        page_name[pages] = declaration_name[1]
        page_header[pages] = header
        page_brief[pages] = summary()
        page_text[pages] = format_comment()
        page_code[pages] = code_text
        page_names[pages] = ""
        for (i = 1; i <= declared; i++) {
            page_names[pages] = page_names[pages] (i > 1 ? " " : "") declaration_name[i]
            page_of[declaration_name[i]] = pages
        }
    }
    lines = declared = 0
    code_text = ""
}

function declare(name,    i) {
    if (name == "" || hidden || (name in page_of)) return
    for (i = 1; i <= declared; i++)
        if (declaration_name[i] == name) return
    declaration_name[++declared] = name
}

# Returns the name that text declares, or an empty string.
function name_of(text,    type) {
    if (match(text, /\(\*tern_[a-z0-9_]+\)\(/)) text = substr(text, RSTART + 2, RLENGTH - 4)
    else if (text ~ /^typedef/ && text !~ /\(/) {
        sub(/;.*/, "", text)
        sub(/.*[ *]/, "", text)
    } else if (match(text, /tern_[a-z0-9_]+\(/)) text = substr(text, RSTART, RLENGTH - 1)
    else return ""
    return text
}

# Adds a declaration, whose body is left out, to the code that the page shows.
function show(text) {
    sub(/ *\{[^}]*\}? *$/, ";", text)
    sub(/^__attribute__\(\(.*\)\)\) /, "", text)
    while (sub(/^(TERN_API|TERN_NODISCARD|TERN_INLINE|TERN_MAILBOX_INLINE|static inline) +/, "", text)) continue
    gsub(/  +/, " ", text)
    code_text = code_text wrap(text)
}

# Breaks a long declaration between its parameters.
function wrap(text,    out, indent, at, piece, part, count, i) {
    if (length(text) <= 78 || text !~ /\(/) return text "\n"
    at = index(text, "(")
    count = split(substr(text, at + 1), part, /, */)
    out = substr(text, 1, at)
    indent = at < 36 ? at : 8
    if (at >= 36) out = out "\n" sprintf("%8s", "")
    piece = length(out) > at ? 8 : at
    for (i = 1; i <= count; i++) {
        if (i > 1 && piece + length(part[i]) + 2 > 78) {
            sub(/ $/, "", out)
            out = out "\n" sprintf("%" indent "s", "")
            piece = indent
        }
        out = out part[i] (i < count ? ", " : "")
        piece += length(part[i]) + 2
    }
    return out "\n"
}

function begin_header() {
    finish()
    header = FILENAME
    sub(/.*include\//, "", header)
    hidden = private = body = aggregate = in_comment = described = continued = 0
    statement = ""
}

FNR == 1 { begin_header() }
private { next }
in_comment || (/^ *\/\*/ && !body && !aggregate && statement == "") {
    if (!in_comment) {
        finish()
        hidden = 0
    }
    comment[++lines] = $0
    in_comment = $0 !~ /\*\//
    if ($0 ~ /Not for applications/) hidden = 1
    if (in_comment) next
    if (!described) {
        described = 1
        if (format_comment() ~ /Nothing in this header is for applications/) private = 1
        if (private) next
        top_brief[header] = summary()
        top_text[header] = format_comment()
        headers[++header_count] = header
        lines = 0
    }
    next
}
body {
    if (/^}/) body = 0
    next
}
aggregate {
    code_text = code_text $0 "\n"
    if (constants && match($0, /^    TERN_[A-Z0-9_]+/)) {
        text = $0
        sub(/^ */, "", text)
        sub(/[^A-Za-z0-9_].*/, "", text)
        declare(text)
    }
    if (/^}/) {
        aggregate = constants = 0
        if (match($0, /tern_[a-z0-9_]+;/)) declare(substr($0, RSTART, RLENGTH - 1))
    }
    next
}
/^$/ {
    finish()
    hidden = 0
    next
}
continued {
    continued = /\\$/
    next
}
/^ *# *define TERN_/ {
    text = $0
    sub(/^ *# *define /, "", text)
    name = text
    sub(/[^A-Za-z0-9_].*/, "", name)
    continued = /\\$/
    if (name ~ /(_H|_)$/ || name == declaration_name[declared]) next
    declare(name)
    if (text ~ /^[A-Za-z0-9_]+\(/) text = substr(text, 1, index(text, ")"))
    else sub(/ *\\$/, "", text)
    sub(/ *\/\*.*\*\/ *$/, "", text)
    code_text = code_text "#define " text "\n"
    next
}
/^ *#/ || /^extern "C"/ || /^}/ {
    continued = /\\$/
    next
}
/^TERN_ATOMICS\(/ {
    split($0, word, /[(,) ]+/)
    count = atomics_list(word[2], word[3], list)
    for (i = 1; i <= count; i++) {
        declare(name_of(list[i]))
        show(list[i])
    }
    next
}
statement == "" && /^(typedef )?(enum|struct|union)[^;()]*\{$/ {
    aggregate = 1
    constants = /enum/
    code_text = code_text $0 "\n"
    if (match($0, /(tern|TERN)_[a-z0-9_]+ \{/)) declare(substr($0, RSTART, RLENGTH - 2))
    next
}
{
    text = $0
    sub(/^ +/, "", text)
    statement = statement (statement == "" ? "" : " ") text
    bare = statement
    gsub(/\/\*[^*]*\*\//, "", bare)
    sub(/ +$/, "", bare)
    if (bare !~ /[;{}]$/) next
    body = bare ~ /\{$/
    if (bare !~ /^template/) {
        declare(name_of(bare))
        show(bare)
    }
    if (bare ~ /^(typedef )?enum/)
        while (match(bare, /TERN_[A-Z0-9_]+/)) {
            declare(substr(bare, RSTART, RLENGTH))
            bare = substr(bare, RSTART + RLENGTH)
        }
    statement = ""
}

function header_page(path) {
    sub(/^tern\//, "", path)
    return path ~ /^tern[.]/ ? path : "tern_" path
}

function write_page(name, brief, synopsis, text, others,    path, i) {
    path = out "/" name ".3"
    printf ".TH %s 3 \"\" \"tern %s\" \"tern\"\n", name, version >path
    printf ".SH NAME\n%s \\- %s\n", others, troff(brief) >path
    printf ".SH SYNOPSIS\n.nf\n%s.fi\n", synopsis >path
    printf ".SH DESCRIPTION\n%s", text >path
    return path
}

function as_code(text,    n, i, line, out) {
    n = split(text, line, "\n")
    for (i = 1; i < n; i++) out = out troff(line[i]) "\n"
    return out
}

END {
    finish()
    for (p = 1; p <= pages; p++) {
        n = split(page_names[p], given, " ")
        others = given[1]
        for (i = 2; i <= n; i++) others = others ", " given[i]
        path = write_page(page_name[p], page_brief[p], \
            "#include <" page_header[p] ">\n.PP\n" as_code(page_code[p]), page_text[p], others)
        mentioned(page_text[p])
        text = "\\fB" header_page(page_header[p]) "\\fP(3)"
        delete told
        told[p] = 1
        for (i = 1; i <= ref_count; i++) {
            if (!(refer[i] in page_of) || (page_of[refer[i]] in told)) continue
            told[page_of[refer[i]]] = 1
            text = text ",\n\\fB" page_name[page_of[refer[i]]] "\\fP(3)"
        }
        printf ".SH SEE ALSO\n%s\n", text >path
        close(path)
        for (i = 2; i <= n; i++) {
            printf ".so man3/%s.3\n", page_name[p] >(out "/" given[i] ".3")
            close(out "/" given[i] ".3")
        }
    }
    for (h = 1; h <= header_count; h++) {
        path = write_page(header_page(headers[h]), top_brief[headers[h]], \
            "#include <" headers[h] ">\n", top_text[headers[h]], header_page(headers[h]))
        text = ""
        for (p = 1; p <= pages; p++)
            if (page_header[p] == headers[h])
                text = text ".TP\n.BR " page_name[p] " (3)\n" troff(page_brief[p]) "\n"
        if (text != "") printf ".SH PAGES\n%s", text >path
        close(path)
    }
}
