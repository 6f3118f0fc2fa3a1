#!/bin/sh
# readme.sh ROOT: the programs in README.md, docs/using.md, docs/mcts.md, docs/languages.md, docs/cplusplus.md
# and docs/tutorial are examples to the letter, which are compiled and run. The README stays short enough to be read.
set -eu
root=$1
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT

# compare PAGE EXAMPLE LANGUAGE
compare() {
    sed -n '/^```'"$3"'$/,/^```$/{/^```/d;p}' "$root/$1" >"$shown"
    diff "$shown" "$root/$2" || {
        echo "$1 shows another program than $2"
        exit 1
    }
}

lines=$(wc -l <"$root/README.md")
[ "$lines" -le 150 ] || {
    echo "README.md has $lines lines, 150 are allowed: move what a first reader can do without to docs/"
    exit 1
}

compare README.md examples/first.c c
compare docs/using.md examples/hello.c c
compare docs/mcts.md examples/search.c c
compare docs/languages.md examples/cpp/words.cpp cpp
compare docs/cplusplus.md examples/cpp/columns.cpp cpp
compare docs/languages.md examples/fortran/heat.f90 fortran
compare docs/languages.md examples/python/pi.py python
for program in "$root"/examples/tutorial/*.c; do
    name=$(basename "$program" .c)
    chapter=docs/tutorial/$(echo "$name" | tr _ -).md
    compare "$chapter" "examples/tutorial/$name.c" c
    grep -q '^    \$ build/mpirun-tern .*/'"$name\$" "$root/$chapter" || {
        echo "$chapter does not show how $name is run"
        exit 1
    }
done
