# Prepares a page or a public header for Doxygen (docs/Doxyfile).
#
# A page: its headings get the anchors that GitHub gives them, made unique by the page's path, and links to
# other pages become references to these. An entry of an index (docs/**/README.md), which begins with a
# link, makes the page a part of that index. Links to files that the site does not have become text. Pictures in
# mermaid's language become elements that its script draws, if TERN_PICTURES is set, and text otherwise.
#
# A header: a comment in front of a declaration, and one behind a member or a constant, becomes a comment of
# Doxygen's. So does the first of the file, which is about all of it. Comments that are not for
# applications stay what they are, and so do those inside of functions. Where several declarations
# follow a comment without a blank line in between, it is for all of them.

function label(path) {
    gsub(/[^A-Za-z0-9]/, "_", path)
    return "page_" path
}

# A heading that repeats an earlier one of the page gets a number, as on GitHub.
function unique(anchor) {
    return anchor (seen[anchor]++ ? "-" seen[anchor] - 1 : "")
}

function slug(text) {
    text = tolower(text)
    gsub(/[^a-z0-9 _-]/, "", text)
    gsub(/ /, "-", text)
    return text
}

# Returns the path of a link from the root of the repository; the page with the link is in folder.
function resolve(folder, link,    part, count, i, depth, path, out) {
    count = split((folder == "" ? "" : folder "/") link, part, "/")
    depth = 0
    for (i = 1; i <= count; i++) {
        if (part[i] == "." || part[i] == "") continue
        if (part[i] == "..") { depth--; continue }
        out[++depth] = part[i]
    }
    for (i = 1; i <= depth; i++) path = path (i > 1 ? "/" : "") out[i]
    return path
}

function is_page(path) {
    return path ~ /^(docs|examples|benchmarks)\/.*[.]md$/ || path ~ /^(README|CONTRIBUTING|CHANGELOG)[.]md$/
}

function rewrite_links(text,    out, at, words, link, hash, target, how, first) {
    first = 1
    while (match(text, /\[[^][]*\]\([^() ]*\)/)) {
        at = RSTART
        words = substr(text, RSTART + 1, index(substr(text, RSTART), "](") - 2)
        link = substr(text, RSTART + length(words) + 3, RLENGTH - length(words) - 4)
        out = out substr(text, 1, at - 1)
        text = substr(text, at + RLENGTH)
        if (link ~ /^(https?:|@)/) {
            out = out "[" words "](" link ")"
        } else {
            hash = ""
            if (match(link, /#/)) {
                hash = substr(link, RSTART + 1)
                link = substr(link, 1, RSTART - 1)
            }
            target = link == "" ? page : resolve(folder, link)
            if (!is_page(target)) {
                out = out words
            } else {
                how = hash == "" && first && is_index && (out ~ /^[*] $/ || (out ~ /^[|] $/ && target ~ /^examples\//)) ? "@subpage" : "@ref"
                target = target == "README.md" && hash == "" ? "index" : label(target)
                gsub(/`/, "", words)
                if (how == "@subpage") out = out "@subpage " target " \"" words "\""
                else out = out "[" words "](@ref " target (hash == "" ? "" : "_" slug(hash)) ")"
            }
        }
        first = 0
    }
    return out text
}

function markdown(    text, title, copy) {
    # Doxygen knows code only where it begins and ends on one line.
    text = kept $0
    kept = ""
    copy = text
    if (!fence && !picture && text !~ /^(    |```)/ && gsub(/`/, "", copy) % 2 == 1) {
        kept = text " "
        return
    }
    if (picture) {
        if (text ~ /^```/) {
            picture = 0
            print "</pre>\n@endhtmlonly"
            return
        }
        gsub(/&/, "\\&amp;", text)
        gsub(/</, "\\&lt;", text)
        gsub(/>/, "\\&gt;", text)
        print text
        return
    }
    if (text ~ /^```mermaid/ && ENVIRON["TERN_PICTURES"] != "") {
        picture = pictures = 1
        print "@htmlonly\n<pre class=\"mermaid\">"
        return
    }
    if (text ~ /^ *```/) {
        fence = !fence
        sub(/```mermaid/, "```", text)
        print text
        return
    }
    if (fence || text ~ /^    /) { print text; return }
    if (text ~ /^#+ /) {
        title = text
        sub(/^#+ /, "", title)
        if (titled && text ~ /^# /) text = "#" text
        text = rewrite_links(text) " {#" label(page) (titled ? "_" unique(slug(title)) : "") "}"
        titled = 1
        # Doxygen would make a list of a number with a dot.
        if (match(text, /^#+ [0-9]+[.] /))
            text = substr(text, 1, RLENGTH - 2) "\\." substr(text, RLENGTH)
        print text
        return
    }
    print rewrite_links(text)
}

# One line of a comment of Doxygen's. Code, which is indented, is left alone.
function escape(text) {
    if (text ~ /^ *[*]     /) return text
    gsub(/</, "\\&lt;", text)
    gsub(/#/, "\\#", text)
    sub(/^ *[*] \[out\]/, " * @b [out]", text)
    return text
}

function comment_text(first,    i, out) {
    out = first
    for (i = 2; i <= comment_lines; i++) out = out "\n" escape(comment[i])
    return out
}

# Prints the comment before next_line, as one of Doxygen's if that line declares something.
function settle(next_line,    start, text) {
    if (!pending) return
    pending = 0
    text = comment[1]
    if (!about_file) {
        about_file = 1
        sub(/\/[*][*]?/, "/** @file " substr(page, 9) "\n *", text)
        print comment_text(text)
        print ""
        return
    }
    if (in_detail && next_line !~ /^(template <.*> )?class / && next_line !~ /^template <.*>$/) {
        print comment_text(text)
        return
    }
    # The forms of a macro, for several languages, stand behind its comment.
    if (next_line ~ /^ *#if/ && comment[1] !~ /Not for applications/) {
        sub(/\/[*][*]?/, "/**", text)
        doc = comment_text(escape_first(text))
        return
    }
    if (next_line ~ /^ *$/ || next_line ~ /^ *#(el|endif|include|undef)/ ||
        comment[1] ~ /Not for applications/ || next_line ~ /^TERN_ATOMIC/) {
        text = comment_text(text)
        if (next_line ~ /^TERN_ATOMICS/) atomics_comment = text
        doc = ""
        print text
        return
    }
    sub(/\/[*][*]?/, "/**", text)
    doc = comment_text(escape_first(text))
    print doc
}

function escape_first(text,    body) {
    body = substr(text, index(text, "/**") + 3)
    gsub(/</, "\\&lt;", body)
    gsub(/#/, "\\#", body)
    return substr(text, 1, index(text, "/**") + 2) body
}

function atomics(type, suffix,    list, count, i, text) {
    text = atomics_comment
    sub(/\/[*]/, "/**", text)
    count = atomics_list(type, suffix, list)
    for (i = 1; i <= count; i++) print text "\n" list[i]
}

function header(    text) {
    text = $0
    if (in_comment) {
        comment[++comment_lines] = text
        if (text ~ /[*]\//) { in_comment = 0; pending = 1 }
        return
    }
    if (in_trailing) {
        if (text ~ /[*]\//) in_trailing = 0
        print escape_trailing(text)
        return
    }
    if (body) {
        print text
        if (text ~ /^}/) body = 0
        return
    }
    if (text ~ /^ *\/[*]/) {
        settle("")
        comment_lines = 0
        comment[++comment_lines] = text
        if (text ~ /[*]\//) pending = 1
        else in_comment = 1
        return
    }
    settled = pending
    settle(text)
    # What classes for programs derive from is shown; the rest of the namespace is not.
    if (text ~ /^namespace (tern::)?detail /) in_namespace = in_detail = 1
    else if (text ~ /namespace (tern::)?detail$/) in_namespace = in_detail = 0
    else if (in_namespace && text ~ /^(template <.*> )?class [^;]*$/) in_detail = 0
    else if (in_namespace && text ~ /^};/) in_detail = 1
    if (text ~ /^TERN_ATOMICS\(/) {
        split(text, words, /[(,) ]+/)
        atomics(words[2], words[3])
        return
    }
    # A further declaration of the same paragraph.
    if (!settled && doc != "" && text ~ /^(TERN_(NODISCARD|API|INLINE|MAILBOX_INLINE)|typedef|#define) /) print doc
    if (text ~ /^ *$/) doc = ""
    if (page ~ /[.]hpp$/ || text ~ /^(typedef )?(struct|enum|union)[^;]*\{$/ || text ~ /^enum \{/)
        aggregate = 1
    if (text ~ /^(typedef )?enum [^}]*$/) constants = 1
    if (text ~ /^}/) aggregate = constants = 0
    if (!aggregate && text ~ /[)] \{$/ && text !~ /^ /) body = 1
    else if (!aggregate && text ~ /^ .*[)] \{$/) body = 1
    if (text ~ /[,;a-z0-9A-Z_)] *\/[*]/ && !(text ~ /^#define/ && doc != "")) {
        if (text !~ /[*]\//) in_trailing = 1
        sub(/\/[*]/, "/**<", text)
        text = substr(text, 1, index(text, "/**<") + 3) escape_trailing(substr(text, index(text, "/**<") + 4))
    }
    # Doxygen hides a constant without a comment.
    if (text ~ /^(typedef )?enum .*[{].*[}]/) gsub(/TERN_[A-Z0-9_]+,?/, "& /**< \\&nbsp; */", text)
    else if (constants && text ~ /^ +TERN_[A-Z0-9_]+( = [^,\/]*)?,?$/) text = text " /**< &nbsp; */"
    print text
}

function escape_trailing(text) {
    gsub(/</, "\\&lt;", text)
    gsub(/#/, "\\#", text)
    return text
}

FNR == 1 {
    page = FILENAME
    root = ENVIRON["PWD"] "/"
    if (index(page, root) == 1) page = substr(page, length(root) + 1)
    folder = page
    if (!sub(/\/[^\/]*$/, "", folder)) folder = ""
    is_index = page ~ /^(docs\/(.*\/)?|examples\/)README[.]md$/
}
page ~ /[.]md$/ { markdown(); next }
{ header() }
END {
    if (kept != "") print kept
    if (pictures)
        print "\n@htmlonly\n<script src=\"mermaid.min.js\"></script>\n" \
            "<script src=\"pictures.js\"></script>\n@endhtmlonly"
    if (page !~ /[.]md$/) settle("")
}
