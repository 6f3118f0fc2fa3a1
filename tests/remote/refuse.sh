#!/bin/sh
# refuse.sh INCLUDE_FOLDER [SYSTEM_FOLDER]...: what a compiler has to say no to, in C and in C++, with
# every compiler that is here: calls of declared functions with wrong arguments, and declarations
# that cannot work. The same with right ones compiles.
set -eu
include=$1
shift
system=
for folder in "$@"; do
    system="$system -isystem $folder"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong=0

# program DECLARATION <CALLS: a function for each call; line N of the calls is line N of file call.
program() {
    cat <<END
#include <tern/remote.h>
struct point { double x, y; };
TERN_REMOTE(plot, (struct point, at), TERN_STRING(label), TERN_BUFFER(float, values),
            TERN_ARRAY(int, four, 4))
TERN_REMOTE_RETURN(double, mean, TERN_BUFFER(double, values))
TERN_REMOTE(ping)
TERN_REMOTE(fill, TERN_SEGMENT(int, words), (int, with))
TERN_REMOTE(keep, TERN_VECTOR(double, values))
TERN_REMOTE_RETURN(double, norm, TERN_VECTOR(double, values))
extern tern_worker *w;
extern tern_worker_id t;
extern struct point p;
extern float *f;
extern double *d;
extern tern_ptr place;
extern tern_request request;
extern const tern_vector *v;
$1
END
    n=0
    while read -r call; do
        n=$((n + 1))
        echo "tern_status use_$n(void);"
        echo "#line $n \"call\""
        echo "tern_status use_$n(void) { int four[4] = {1}, three[3] = {1}; (void)four, (void)three;" \
            "return $call; }"
    done
}

# compiles COMPILER LANGUAGE STANDARD <PROGRAM
compiles() {
    limit=-ferror-limit=0
    case $1 in g*) limit=-fmax-errors=0 ;; esac
    # shellcheck disable=SC2086 # system is a list
    "$1" -x "$2" -std="$3" $limit -Wall -Wextra -Wpedantic -Werror -c -I"$include" $system \
        -o "$work/object" - >"$work/output" 2>&1
}

# good COMPILER LANGUAGE STANDARD DECLARATION <CALLS
good() {
    program "$4" >"$work/program"
    compiles "$1" "$2" "$3" <"$work/program" || {
        echo "$1 -std=$3 refuses what is right: $4"
        cat "$work/output"
        wrong=1
    }
}

# bad COMPILER LANGUAGE STANDARD <CALLS: each of them.
bad() {
    cat >"$work/calls"
    program '' <"$work/calls" >"$work/program"
    compiles "$@" <"$work/program" && wrong=1
    n=0
    while read -r call; do
        n=$((n + 1))
        grep -q "^call:$n:.*error" "$work/output" || {
            echo "$1 -std=$3 takes $call"
            wrong=1
        }
    done <"$work/calls"
}

# bad_declarations COMPILER LANGUAGE STANDARD <DECLARATIONS: each of them.
bad_declarations() {
    while read -r declaration; do
        program "$declaration" </dev/null >"$work/program"
        if compiles "$@" <"$work/program"; then
            echo "$1 -std=$3 takes $declaration"
            wrong=1
        fi
    done
}

both_languages() {
    good "$@" 'TERN_REMOTE(a, (int, b))' <<'END'
plot(w, t, p, "label", f, 3, four)
plot_start(w, t, p, "label", f, 3, four, &request)
mean(w, t, d, 1, d)
mean_start(w, t, d, 1, d, &request)
ping(w, t)
fill(w, t, place, 1, 2)
keep(w, t, v)
keep_start(w, t, v, &request)
norm(w, t, v, d)
norm_start(w, t, v, d, &request)
a(w, t, 1)
END
    # Too few, too many, of another type, no worker, no target.
    bad "$@" <<'END'
plot(w, t, p, "label", f, 3)
plot(w, t, p, "label", f, 3, four, 5)
plot(w, t, 1, "label", f, 3, four)
plot(w, t, p, 2, f, 3, four)
plot(w, t, p, "label", d, 3, four)
plot(w, t, p, "label", f, d, four)
plot(w, t, p, "label", f, 3, f)
plot(t, p, "label", f, 3, four)
plot(w, 1, p, "label", f, 3, four)
plot_start(w, t, p, "label", f, 3, four)
mean(w, t, d, 1)
mean(w, t, d, 1, f)
mean_start(w, t, d, 1, f, &request)
ping(w, t, 1)
ping(w)
fill(w, t, f, 1, 2)
keep(w, t, d)
keep(w, t, v, 1)
norm(w, t, v)
norm_start(w, t, v, d)
END
    # Too short an array; alone, since gcc looks at it last.
    echo 'plot(w, t, p, "label", f, 3, three)' | bad "$@"
    # Twice, pointers, alignment, no name, unknown, too many.
    bad_declarations "$@" <<'END'
TERN_REMOTE(ping)
TERN_REMOTE(a, (char *, p))
TERN_REMOTE(a, TERN_BUFFER(char *, p))
TERN_REMOTE(a, TERN_VECTOR(char *, p))
TERN_REMOTE(a, TERN_VECTOR(long double, p))
TERN_REMOTE_RETURN(int *, a)
TERN_REMOTE(a, (long double, p))
TERN_REMOTE(a, (int))
TERN_REMOTE(a, (struct unknown, p))
TERN_REMOTE(a, (int, b), (int, c), (int, d), (int, e), (int, f), (int, g), (int, h), (int, i), (int, j), (int, k), (int, l), (int, m), (int, n))
END
}

c_compiler() {
    both_languages "$1" c c11
    # Not as declared. (In C++ these are other functions, and the linker misses the right one.)
    bad_declarations "$1" c c11 <<'END'
TERN_REMOTE(a, (int, p)) tern_status a_here(tern_call_info *c, double p);
TERN_REMOTE(a, (int, p)) tern_status a_here(tern_call_info *c);
TERN_REMOTE_RETURN(int, a) tern_status a_here(tern_call_info *c, double *result);
TERN_REMOTE(a, TERN_VECTOR(int, p)) tern_status a_here(tern_call_info *c, const tern_vector *p);
END
}

cplusplus_compiler() {
    both_languages "$1" c++ c++17
    # Not to be copied bit by bit.
    echo 'struct owner { ~owner() {} }; TERN_REMOTE(a, (owner, p))' |
        bad_declarations "$1" c++ c++17
}

# All at once, each in a folder of its own.
all=$work
jobs=
begin() {
    command -v "$2" >/dev/null || return 0
    (
        trap - EXIT
        work=$all/$2
        mkdir "$work"
        "$1" "$2"
        exit $wrong
    ) &
    jobs="$jobs $!"
}

begin c_compiler gcc
begin c_compiler clang
begin cplusplus_compiler g++
begin cplusplus_compiler clang++
for job in $jobs; do
    wait "$job" || wrong=1
done
exit $wrong
