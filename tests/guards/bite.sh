#!/bin/sh
# bite.sh GUARD [ARGUMENT]...: the guard fails on bad samples, and not on a good one. A guard that
# never fails guards nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
guard=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect_success() {
    "$@" || {
        echo "fails: $*"
        exit 1
    }
}

expect_failure() {
    if "$@" >"$work/output" 2>&1; then
        echo "passes: $*"
        exit 1
    fi
}

# sample PATH TEXT: a tree that holds this one file.
sample() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$work/tree/$1"
}

case $guard in
layers)
    # Upward, sideways, out of the public headers, past the folders, out of the library; upward inside a folder, and in
    # a folder without a place.
    while read -r path include; do
        sample "$path" "#include $include"
        expect_failure "$here/layers.sh" "$work/tree"
    done <<-END
	src/a.c "rma/ring/ring.h"
	rma/a.h <rpc/call.h>
	pmpi/a.c "rma/ring/ring.h"
	queue/a.c "hashtable/table.h"
	hashtable/a.c "map/map.h"
	include/tern/a.h "src/context.h"
	src/a.c "../src/context.h"
	mcts/a.c "tests/harness/harness.h"
	base/a.c "src/log.h"
	mailbox/a.c "src/log.h"
	rpc/a.c "mailbox/share.h"
	mcts/a.c "src/context.h"
	map/a.c "mcts/search.h"
	hashtable/op/a.c "hashtable/growth/growth.h"
	hashtable/table/a.h "hashtable/bucket/short.h"
	hashtable/a.c "hashtable/file/io.h"
	hashtable/batch/a.h "hashtable/batch.h"
	hashtable/elsewhere/a.c "base/error.h"
	rma/memory/a.h "rma/ring/ring.h"
	rma/ring/a.c "rma/transport/transport.h"
	rma/network/a.c "rma/transport/transport.h"
	rma/notify/a.c "rma/transfer.h"
	src/a.c "src/peers/watch.h"
	rma/notify/a.c "src/peers/stuck.h"
	END
    while read -r path include; do
        sample "$path" "#include $include"
        expect_success "$here/layers.sh" "$work/tree"
    done <<-END
	rpc/a.c "rma/ring/ring.h"
	hashtable/op/a.c "hashtable/op/op.h"
	hashtable/growth/a.c "hashtable/op/op.h"
	hashtable/a.c "hashtable/batch/run.h"
	rma/transport/a.c "rma/ring/ring.h"
	rma/transport/a.c "src/peers/peers.h"
	src/peers/a.c "src/peers/watch.h"
	map/op/a.c "map/batch/many.h"
	END
    ;;
length)
    sample src/a.c "$(yes 'int x;' | head -601)"
    expect_failure "$here/length.sh" "$work/tree"
    sample src/a.c "$(yes 'int x;' | head -600)"
    expect_success "$here/length.sh" "$work/tree"
    ;;
shapes)
    # ~ stands for a blank and ^ for nothing, so that the guard does not find them here.
    while read -r text; do
        sample a.c "/* Says something.
 * $(printf '%s' "$text" | tr '~' ' ' | tr -d '^') */"
        expect_failure "$here/../../scripts/shapes" "$work/tree/a.c"
    done <<-'END'
	Who~waits is told.
	A reply goes to whoe^ver asked.
	A rank serves for who~waits, and goes on.
	The option is~none.
	That makes~no sense.
	It failed for~want of memory.
	Errors~as put.
	What~was given is freed.
	What~load and store reach costs nothing.
	END
    while read -r text; do
        sample a.c "/* Says something.
 * $text */"
        expect_success "$here/../../scripts/shapes" "$work/tree/a.c"
    done <<-'END'
	A reader who waits is told.
	Every rank says who it is, and others, who wait, go on.
	Returns the same errors as tern_put.
	What a rank has put, by rank.
	END
    sample a.c 'int who = 1; /* is set */'
    expect_success "$here/../../scripts/shapes" "$work/tree/a.c"
    ;;
messages)
    # Each of these texts has one fault; ~ stands for a blank.
    while read -r text; do
        text=$(printf '%s' "$text" | tr '~' ' ')
        sample src/a.c "int a(void) { return tern_fail(TERN_ERR_STATE, \"$text\", 1); }"
        expect_failure "$here/messages.sh" "$work/tree"
    done <<-'END'
	Rank %d is busy
	rank %d is busy.
	rank %d is busy\n
	who~is rank %d
	worker %d is~none of this context
	rank %d  is busy
	END
    while read -r text; do
        sample src/a.c "int a(void) { return tern_fail(TERN_ERR_STATE, \"$text\", 1); }"
        expect_success "$here/messages.sh" "$work/tree"
    done <<-'END'
	rank %d is busy; wait for it
	TERN_WORKERS is %d; raise it
	%s: there is no rank %d
	END
    # ctest is played by a script; the process of its only test writes what is in said.
    sample src/a.c 'int a(int x) { return x ? tern_fail(1, "rank %d is busy", x) : tern_log(1, "it is %s", ""); }'
    mkdir -p "$work/bin" "$work/build"
    cat >"$work/bin/ctest" <<-END
	#!/bin/sh
	echo '{"tests": [{"name": "a", "command": ["sh", "-c", "cp $work/said \$MESSAGES_FOLDER"]}]}'
	END
    chmod +x "$work/bin/ctest"
    # run KIND FORMAT TEXT
    run() {
        printf '%s\t1\t%s\t%s\n' "$@" >"$work/said"
        PATH=$work/bin:$PATH "$here/../../scripts/messages" --root "$work/tree" --to "$work/written" "$work/build"
    }
    expect_success run fail 'rank %d is busy' 'rank 7 is busy'
    grep -q '^    rank 7 is busy$' "$work/written"
    grep -q '^    not provoked: it is %s$' "$work/written"
    expect_success run log 'it is %s' 'it is late'
    expect_failure run fail 'rank %d is idle' 'rank 7 is idle'
    expect_failure run fail 'rank %d is busy' 'rank %d is busy'
    expect_failure run log 'it is %s' 'it is (null)'

    # whole LIST: every format is provoked, or in the list.
    mkdir "$work/texts" "$work/tree/scripts"
    whole() {
        printf '%s\n' "$@" >"$work/tree/scripts/messages.list"
        "$here/../../scripts/messages" --root "$work/tree" --to /dev/null --by "$work/texts" --all
    }
    printf 'log\t1\tit is %%s\tit is late\n' >"$work/texts/1"
    expect_success whole 'never: no test has ranks' 'rank %d is busy'
    expect_success whole 'sometimes: ranks may' '    be busy' 'rank %d' '    is busy' 'it is %s'
    expect_failure whole
    expect_failure whole 'rank %d is busy'
    expect_failure whole 'never: no test has ranks' 'rank %d is busy' 'rank %d is busy'
    expect_failure whole 'never: no test has ranks' 'rank %d is busy' 'rank %d is idle'
    expect_failure whole 'never: no test has ranks' 'rank %d is busy' 'it is %s'
    ;;
size)
    # plant PATH TEXT: one more file in the tree.
    plant() {
        mkdir -p "$work/tree/$(dirname "$1")"
        printf '%s\n' "$2" >"$work/tree/$1"
    }
    # fails WORDS: for this reason, which the guard names.
    fails() {
        expect_failure "$here/size.sh" "$work/tree"
        grep -q "$1" "$work/output" || {
            echo "does not say '$1':"
            cat "$work/output"
            exit 1
        }
    }
    sound() {
        sample scripts/size.list 'limit names.twice 0 none
limit functions.long 0 none
limit handlers 1 one
handler on_a hashtable/a.c a
selector tern_path_take path/selector.h a
chooser choose hashtable/a.c a
enum a_kind hashtable/a.c a
struct a hashtable/a.c a
access change hashtable/b.c a
body change hashtable/b.c a
end tern_call path/selector.h a
executor tern_map_far hashtable/a.c a
executor tern_map_near hashtable/b.c a
dispatcher tern_map_find hashtable/a.c a'
        plant include/tern/a.h 'int tern_map_find(int x);'
        plant path/selector.h 'static inline int tern_path_take(void) { return 1; }
int tern_call(int x);'
        plant hashtable/a.c 'static int on_a(void) { return 1; }
TERN_FUNCTION(on_a)
int choose(void) { return tern_path_take(); }
enum a_kind { A };
struct a { int key, value; };
int tern_map_far(int x) { return tern_call(x); }
int tern_map_find(int x) { return x ? tern_map_far(x) : tern_map_near(x); }'
        plant hashtable/b.c 'void change(void) {}
int tern_map_near(int x) { change(); return x; }'
    }
    sound
    expect_success "$here/size.sh" "$work/tree"
    plant rma/a.h 'typedef struct a { int x; } a;'
    fails 'a has two definitions: hashtable/a.c:5, rma/a.h:1'
    sound
    plant rma/a.c '#if A
typedef int b;
#else
typedef long b;
#endif
struct c;
typedef struct c c;
enum { A };'
    plant rma/b.c 'typedef struct c c;
enum { A };
/* struct a { */ char text[] = "struct a {";'
    expect_success "$here/size.sh" "$work/tree"
    plant rma/c.c 'typedef struct { int x; } b;'
    fails 'b has two definitions'
    sound
    plant rma/a.c "int a(void) {
$(yes '    a();' | head -79)
}"
    fails 'functions.long is 1, and its limit is 0'
    sound
    plant rma/a.c "int a(void) {
$(yes '    a();' | head -78)
}"
    expect_success "$here/size.sh" "$work/tree"
    # One of each kind that the list lacks.
    while read -r words text; do
        sound
        plant map/a.c "$text"
        fails "map/a.c:1: $words"
    done <<-END
	on_b TERN_MAP_MODIFIER(on_b)
	other int other(int only[]) { return only[0]; }
	b_kind typedef enum { B } b_kind;
	b typedef struct { int key; int kind; } b;
	other void other(void) { change(); }
	other int other(int x) { return tern_map_far(x) + tern_map_near(x); }
	END
    sound
    plant path/b.c 'int other(int path) { return path == TERN_AUTO; }'
    fails 'path/b.c:1: other decides'
    # A way to do an operation that the list lacks.
    sound
    plant map/a.c 'int tern_map_add(int x) { return through(x); }
int through(int x) { return other(x); }
int other(int x) { return tern_call(x); }'
    expect_success "$here/size.sh" "$work/tree"
    plant include/tern/b.h 'int tern_map_add(int x);'
    fails 'map/a.c:3: other, which through calls'
    # The same in the file of a body.
    sound
    plant hashtable/b.c 'void change(void) {}
int tern_map_near(int x) { change(); return x; }
int inner(int x) { return tern_call(x); }
int other(int x) { return inner(x); }'
    plant map/a.c 'int tern_map_add(int x) { return other(x); }'
    plant include/tern/b.h 'int tern_map_add(int x);'
    fails 'hashtable/b.c:4: other, which tern_map_add calls'
    # A symbol of the list that the tree lacks.
    for symbol in on_a tern_path_take choose a_kind 'struct a' 'void change' tern_call tern_map_far tern_map_find; do
        sound
        sed "s/$symbol\\>/removed/" "$work/tree/path/selector.h" >"$work/selector.h"
        sed "s/$symbol\\>/removed/" "$work/tree/hashtable/a.c" >"$work/a.c"
        sed "s/$symbol\\>/removed/" "$work/tree/hashtable/b.c" >"$work/b.c"
        cp "$work/selector.h" "$work/tree/path"
        cp "$work/a.c" "$work/b.c" "$work/tree/hashtable"
        fails 'size.list:.*any more'
    done
    sound
    echo 'aside tern_gone map/a.c a' >>"$work/tree/scripts/size.list"
    fails 'size.list:15: there is no tern_gone in map/a.c any more'
    sound
    echo 'limit heads 1 a' >>"$work/tree/scripts/size.list"
    fails 'a limit of heads, which is no measure'
    # A library without debug information says nothing.
    sound
    echo 'int a;' | cc -x c -shared -o "$work/a.so" -
    expect_failure "$here/size.sh" "$work/tree" "$work/a.so"
    # The compiler knows two definitions of one file's macros.
    plant rma/a.c '#define NAME d
struct NAME { int x; };'
    plant rma/b.c 'struct d { int x, y; };'
    for file in a b; do
        printf '#include "%s"\nstruct d %s;\n' "$work/tree/rma/$file.c" $file >"$work/$file.c"
    done
    cc -g -shared -o "$work/a.so" "$work/a.c" "$work/b.c"
    expect_success "$here/size.sh" "$work/tree"
    expect_failure "$here/size.sh" "$work/tree" "$work/a.so"
    ;;
links)
    sample docs/a.md 'See [b](b.md#part) and [the web](https://example.org/c.md).'
    expect_failure "$here/links.sh" "$work/tree"
    echo text >"$work/tree/docs/b.md"
    expect_success "$here/links.sh" "$work/tree"
    ;;
reference)
    # Each of them lacks the page of one name, or its place on the site.
    root=$(cd "$here/../.." && pwd)
    sample include/tern/a.h '/* A sample. */

/* Two. */
#define TERN_A 1
#define TERN_B 2

/* Constants. */
typedef enum tern_c {
    TERN_D = 1
} tern_c;
enum {
    TERN_E = 1, /* one */
    TERN_F
};

/* In one line. */
typedef enum tern_l { TERN_M, TERN_N } tern_l;

/* A structure, and a type of functions. */
typedef struct tern_g {
    int x;
} tern_g;
typedef void (*tern_h)(int x);

/* Functions. */
TERN_NODISCARD TERN_API tern_status
tern_i(int x);
TERN_INLINE int tern_j(int x) { return x; }

/* Not for applications: another. */
TERN_API int tern_k(void);'
    page() {
        printf '.TH a\n.SH NAME\n' >"$work/tree/man3/$1.3"
    }
    mkdir -p "$work/tree/man3"
    all='TERN_A TERN_B tern_c TERN_D TERN_E TERN_F tern_g tern_h tern_i tern_j tern_l TERN_M TERN_N'
    for name in $all; do
        page "$name"
        echo "<name>$name</name>" >>"$work/tags"
    done
    expect_success "$here/reference.sh" "$work/tree" "$work/tree/man3" "$work/tags"
    for name in $all; do
        rm "$work/tree/man3/$name.3"
        expect_failure "$here/reference.sh" "$work/tree" "$work/tree/man3"
        echo '.so man3/away.3' >"$work/tree/man3/$name.3"
        expect_failure "$here/reference.sh" "$work/tree" "$work/tree/man3"
        page "$name"
        grep -v ">$name<" "$work/tags" >"$work/fewer"
        expect_failure "$here/reference.sh" "$work/tree" "$work/tree/man3" "$work/fewer"
    done
    # A constant may lead to another page, and a function may not.
    echo '.so man3/TERN_A.3' >"$work/tree/man3/TERN_B.3"
    expect_success "$here/reference.sh" "$work/tree" "$work/tree/man3"
    echo '.so man3/tern_i.3' >"$work/tree/man3/tern_j.3"
    expect_failure "$here/reference.sh" "$work/tree" "$work/tree/man3"
    # A declaration with a comment gets its page, and no other does.
    "$root/scripts/man" "$work"
    expect_success "$here/reference.sh" "$root" "$work/man3"
    expect_success grep -q '^tern_put_notify .- ' "$work/man3/tern_put_notify.3"
    expect_success grep -qx '.so man3/TERN_PROBE_LOCAL.3' "$work/man3/TERN_PROBE_ANY.3"
    [ ! -e "$work/man3/tern_internal_put_far.3" ] || exit 1
    ;;
internal)
    hidden='/* Not for applications: what it calls. */'
    # Without the prefix: a function, a macro, a type, an inline function. With it: what applications may call.
    for text in 'TERN_API int tern_a(int);' '#define TERN_A(x) x' 'typedef struct tern_a {
    int x;
} tern_a;' 'TERN_INLINE int tern_a(int x) { return x; }'; do
        sample include/tern/a.h "$hidden
$text"
        expect_failure "$here/internal.sh" "$work/tree"
        sample include/tern/a.h "$hidden
$(echo "$text" | sed 's/tern_a/tern_internal_a/g; s/TERN_A(/TERN_INTERNAL_A(/')"
        expect_success "$here/internal.sh" "$work/tree"
        sed -i 's/Not for applications: what/What/' "$work/tree/include/tern/a.h"
        expect_failure "$here/internal.sh" "$work/tree"
    done
    # On a page, in an example, in a man page.
    for path in README.md docs/a.md docs/howto/a.md examples/a.c man/man3/tern_internal_a.3; do
        sample "$path" 'Call tern_internal_a.'
        mkdir -p "$work/tree/include/tern" "$work/tree/man/man3"
        echo 'TERN_API int tern_a(int);' >"$work/tree/include/tern/a.h"
        expect_failure "$here/internal.sh" "$work/tree" "$work/tree/man/man3"
    done
    # Decisions and the table of atomic accesses are for those who work on tern.
    sample docs/memory-order.md 'tern_internal_a'
    mkdir -p "$work/tree/include/tern"
    echo 'TERN_API int tern_a(int);' >"$work/tree/include/tern/a.h"
    expect_success "$here/internal.sh" "$work/tree"
    ;;
interface)
    # header NAME TEXT: a header of 60 lines.
    header() {
        { echo "$2" && yes '/* A line. */'; } | head -60 >"$work/tree/include/tern/$1.h"
    }
    good() {
        sample include/tern/tern.h 'a short header'
        echo short >"$work/tree/include/tern/compat.h"
        header a 'TERN_API void tern_a(int a, int b, int c, int d, int e, int f, int g,
                     void (*h)(int i, int j));'
    }
    good
    expect_success "$here/interface.sh" "$work/tree"
    # Too short; too many; a parameter too many, also of an inline function; names of second versions.
    sed -i 1d "$work/tree/include/tern/a.h"
    expect_failure "$here/interface.sh" "$work/tree"
    good
    for number in $(seq 37); do
        header "a$number" ''
    done
    header mailbox_a ''
    expect_success "$here/interface.sh" "$work/tree"
    header b ''
    expect_failure "$here/interface.sh" "$work/tree"
    for text in 'TERN_API void tern_b(int a, int b, int c, int d, int e, int f, int g,
                     void (*h)(int i, int j), int k);' \
        'TERN_INLINE int tern_b(int a, int b, int c, int d, int e, int f, int g, int h, int i) { return 0; }' \
        'TERN_API void tern_put_far(int a);' 'TERN_API void tern_inlined_put(int a);'; do
        good
        header b "$text"
        expect_failure "$here/interface.sh" "$work/tree"
        header b "/* Not for applications: what others call. */
$(echo "$text" | sed 's/tern_/tern_internal_/')"
        expect_success "$here/interface.sh" "$work/tree"
    done
    ;;
headers)
    # Needs a header that it does not include; is C but not C++; has no include guard.
    for text in 'uint32_t tern_a(void);' 'int tern_a(int class);' 'struct tern_a { int x; };'; do
        sample include/tern/a.h "$text"
        expect_failure "$here/headers.sh" "$work/tree/include" "$@"
    done
    sample include/tern/a.h 'int tern_a(void);'
    expect_success "$here/headers.sh" "$work/tree/include" "$@"
    if command -v g++ >/dev/null; then
        for text in 'struct tern_a { int x; };' 'inline void tern_a() { throw 1; }'; do
            echo "$text" >"$work/tree/include/tern/b.hpp"
            expect_failure "$here/headers.sh" "$work/tree/include" "$@"
        done
        echo 'inline int tern_a() { return 1; }' >"$work/tree/include/tern/b.hpp"
        expect_failure "$here/headers.sh" "$work/tree/include" "$@"
        echo '#pragma once
inline int tern_b() { return 1; }' >"$work/tree/include/tern/b.hpp"
        expect_success "$here/headers.sh" "$work/tree/include" "$@"
    fi
    ;;
nodiscard)
    for text in 'TERN_API tern_status tern_a(int x);' 'TERN_INLINE tern_status tern_a(int x) {' \
        '    static inline __attribute__((unused)) tern_status name##_a(int x) {' \
        'TERN_API tern_status tern_writer_finish(int x);'; do
        sample include/tern/a.h "TERN_NODISCARD TERN_API tern_status tern_b(int x);
$text"
        expect_failure "$here/nodiscard.sh" "$work/tree/include"
    done
    sample include/tern/a.h 'TERN_API tern_status tern_writer_fail(tern_status status);
TERN_NODISCARD TERN_API tern_status tern_b(int x);'
    expect_success "$here/nodiscard.sh" "$work/tree/include"
    # The compilers do warn.
    for language in c c++; do
        echo '#include <tern/config.h>
        void f(void); void f(void) { DROP(tern_config_check(NULL)); }' >"$work/drop.c"
        set -- cc -x $language -Werror -I "$here/../../include" -c "$work/drop.c" -o "$work/drop.o"
        expect_failure "$@" -D'DROP(x)=(void)x'
        expect_success "$@" -D'DROP(x)=tern_ignore(x)'
    done
    ;;
inline)
    cd "$work"
    # build TEXT: a header, and a library that has tern_a.
    build() {
        sample include/tern/a.h "#include <stdint.h>
$1"
        echo 'int tern_a(void); int tern_a(void) { return 0; }' >a.c
        cc -shared -fPIC -o liba.so a.c
    }
    for text in 'TERN_INLINE int tern_b(void) { return 0; }' \
        'TERN_INLINE void *tern_b(void); TERN_INLINE int tern_a(void) { return 0; }' \
        'static inline int tern_a(void) { return 0; }' 'int tern_a(void);'; do
        build "$text"
        expect_failure "$here/inline.sh" "$work/tree/include" liba.so
    done
    build 'TERN_INLINE int tern_a(void) { return 0; }'
    expect_success "$here/inline.sh" "$work/tree/include" liba.so
    ;;
abi)
    cd "$work"
    abi=$here/../../scripts/abi
    library=$1
    expect_success "$abi" "$library"
    # One function too many, one too few, a variable that has grown, a library that exports nothing.
    nm -D -P -t d --defined-only "$library" |
        awk '{ print ($2 ~ /[TW]/ ? "int " $1 "(void) { return 0; }" : "char " $1 "[" $4 "] = {1};") }' >all.c
    build() {
        cc -w -shared -fPIC -o "$(basename "$library")" a.c
    }
    cp all.c a.c
    build
    expect_success "$abi" "$(basename "$library")"
    for change in '$a int tern_added(void) { return 0; }' '/tern_random_next/d' \
        '/^char/s/\[.*\]/[1041]/' 's/^/static /'; do
        sed "$change" all.c >a.c
        build
        expect_failure "$abi" "$(basename "$library")"
    done
    ;;
symbols)
    cd "$work"
    # build DEFINED CALLED: a library of one function that calls another.
    build() {
        echo "int $2(void); int $1(void) { return $2(); }" >a.c
        cc -shared -fPIC -o liba.so a.c
        cc -c a.c
        ar rc liba.a a.o
    }
    for names in 'unprefixed PMPI_Finalize' 'tern_b MPI_Finalize'; do
        # shellcheck disable=SC2086 # two words
        build $names
        expect_failure "$here/symbols.sh" liba.so
        expect_failure "$here/symbols.sh" liba.a
    done
    build tern_b PMPI_Finalize
    expect_success "$here/symbols.sh" liba.so
    expect_failure "$here/symbols.sh" liba.so '^MPI_'
    expect_success "$here/symbols.sh" liba.a
    ;;
needs)
    cd "$work"
    # build CALLED: a library of two objects, of which the second calls the first and CALLED.
    build() {
        echo 'int tern_a(void) { return 1; }' >a.c
        echo "int tern_a(void); int $1(void); int tern_b(void) { return tern_a() + $1(); }" >b.c
        cc -shared -fPIC -o liba.so a.c b.c
        cc -c a.c b.c
        rm -f liba.a
        ar rc liba.a a.o b.o
    }
    for name in PMPI_Barrier hwloc_topology_load tern_progress; do
        build $name
        expect_failure "$here/needs.sh" liba.so
        expect_failure "$here/needs.sh" liba.a
    done
    build getpid
    expect_success "$here/needs.sh" liba.so
    expect_success "$here/needs.sh" liba.a
    cc -shared -fPIC -o liba.so a.c -Wl,--no-as-needed -lpthread -lm
    expect_failure "$here/needs.sh" liba.so
    ;;
heights)
    cd "$work"
    # build CALLER CALLED: two objects of these folders, the first of which calls the second.
    build() {
        rm -rf a.dir
        mkdir -p "a.dir/$1" "a.dir/$2/b"
        echo 'int tern_b(void); int tern_a(void) { return tern_b(); }' >a.c
        echo 'int tern_b(void) { return 1; }' >b.c
        cc -c a.c -o "a.dir/$1/a.o"
        cc -c b.c -o "a.dir/$2/b/b.o"
        objects="a.dir/$1/a.o a.dir/$2/b/b.o"
    }
    for folders in 'src rma/ring' 'rma rpc' 'base src' 'queue hashtable/op' 'rma mailbox' 'hashtable/op hashtable/growth' \
        'hashtable/table hashtable/near' 'hashtable/elsewhere base' 'rma/ring rma/transport' 'rma/memory rma/network'; do
        # shellcheck disable=SC2086 # two words
        build $folders
        # shellcheck disable=SC2086 # two words
        expect_failure "$here/heights.sh" $objects
    done
    for folders in 'rpc rma/ring' 'rma/notify rma/ring' 'hashtable/growth hashtable/op' 'hashtable hashtable/op' 'map hashtable/op'; do
        # shellcheck disable=SC2086 # two words
        build $folders
        # shellcheck disable=SC2086 # two words
        expect_success "$here/heights.sh" $objects
    done
    ;;
pmpi)
    cd "$work"
    echo 'int MPI_Send(void) { return 0; } int MPI_Wtime(void) { return 0; }' >libmpi.c
    echo 'int MPI_Send(void) { return 0; }' >liba.c
    cc -shared -fPIC -o libmpi.so libmpi.c
    cc -shared -fPIC -o liba.so liba.c
    expect_success "$here/pmpi.sh" liba.so libmpi.so
    echo 'int MPI_Recv(void) { return 0; }' >>libmpi.c
    cc -shared -fPIC -o libmpi.so libmpi.c
    expect_failure "$here/pmpi.sh" liba.so libmpi.so
    ;;
names)
    sample include/tern/a.h 'int tern_there(void);'
    mkdir -p "$work/tree/docs/howto"
    echo 'Call `tern_there`, or any of `tern_th*`.' >"$work/tree/docs/howto/a.md"
    expect_success "$here/names.sh" "$work/tree"
    echo 'Call `tern_gone`.' >"$work/tree/docs/howto/a.md"
    expect_failure "$here/names.sh" "$work/tree"
    ;;
contract)
    # Straight, through the harness, and a header of the containers that no folder names.
    for include in '"hashtable/table.h"' '"src/context.h"' '<rma/state.h>' '"inside.h"' '"../../map/map.h"'; do
        sample tests/contract/test_a.c "#include $include"
        mkdir -p "$work/tree/hashtable" "$work/tree/src" "$work/tree/rma" "$work/tree/tests/harness"
        touch "$work/tree/hashtable/table.h" "$work/tree/src/context.h" "$work/tree/rma/state.h"
        echo '#include "hashtable/table.h"' >"$work/tree/tests/harness/inside.h"
        expect_failure "$here/contract.sh" "$work/tree"
    done
    sample tests/contract/test_a.c '#include "tern/a.h"
#include "fixture.h"
int a = tern_a(tern_a_much(1));'
    mkdir -p "$work/tree/include/tern" "$work/tree/tests/harness"
    echo '#include "base/error.h"' >"$work/tree/tests/harness/fixture.h"
    printf '%s\n' 'TERN_API int tern_a(int);' '' '/* Not for applications: x. */' \
        'TERN_API int tern_hidden(int);' >"$work/tree/include/tern/a.h"
    printf '%s\n' 'TERN_API int' 'tern_a_much(int);' >"$work/tree/include/tern/a_b.h"
    expect_success "$here/contract.sh" "$work/tree" a
    for name in tern_much tern_a_m; do
        echo "TERN_API int $name(int);" >"$work/tree/include/tern/a_c.h"
        expect_failure "$here/contract.sh" "$work/tree" a
    done
    ;;
tutorial)
    printf '#!/bin/sh\nprintf "two\\none\\n"\nexit ${STATUS-0}\n' >"$work/mpirun-tern"
    chmod +x "$work/mpirun-tern"
    # chapter LINE...: a page that shows a command and these lines.
    chapter() {
        printf '    %s\n' '$ build/mpirun-tern -n 2 build/a' "$@" >"$work/page.md"
    }
    chapter one two
    expect_success "$here/tutorial.sh" "$work/page.md" "$work"
    expect_failure env STATUS=1 "$here/tutorial.sh" "$work/page.md" "$work"
    chapter one three
    expect_failure "$here/tutorial.sh" "$work/page.md" "$work"
    chapter one one
    expect_failure "$here/tutorial.sh" "$work/page.md" "$work"
    chapter
    expect_failure "$here/tutorial.sh" "$work/page.md" "$work"
    ;;
hunger)
    programs=$work/build/tests/faults/hungry
    mkdir -p "$programs"
    printf 'cat %s\n' "$work/said" >"$work/build/mpirun-tern"
    printf 'true\n' >"$programs/test_ring"
    chmod +x "$work/build/mpirun-tern" "$programs/test_ring"
    # run SAID...: of a run whose output has these lines.
    run() {
        printf '%s\n' "$@" >"$work/said"
        "$here/../faults/hunger" --runs 1 --keep "$work/kept" "$work/build"
    }
    refused="FAILED a on rank 0: a.c:1: f() gave 'out of memory' (no memory), not 'success'"
    expect_success run 'ring: 1 run, quick: passed'
    expect_success run "$refused" 'rank 1: hangs in ring.a'
    expect_success run "$refused" "FAILED b on rank 1: a.c:2: f() gave 'a peer has died'"
    expect_success run "$refused" 'LeakSanitizer: detected memory leaks' '#1 in ucs_malloc'
    expect_failure run "$refused" 'LeakSanitizer: detected memory leaks' '#1 in hungry_malloc'
    crash='ERROR: AddressSanitizer: SEGV on unknown address'
    tests=$(realpath "$here/..")
    expect_success run "$crash" "#0 in f $tests/rma/test_ring.c:1" '#1 in g /rma/ring.c:2'
    expect_failure run "$crash" '#0 in g /rma/ring.c:2' "#1 in f $tests/rma/test_ring.c:1"
    expect_failure run "$refused" "$crash"
    expect_failure run 'a.c:1:2: runtime error: null pointer'
    expect_failure run "FAILED b on rank 1: a.c:2: f() gave 'a peer has died'" "$refused"
    expect_failure run 'rank 1: hangs in ring.a'
    expect_failure run 'application called MPI_Abort'
    printf 'quick: passed\n' >"$work/said"
    expect_failure "$here/../faults/hunger" --runs 100 "$work/build"
    ;;
esac
