#!/bin/sh
# recipes.sh [--bites] ROOT VERSION: each recipe in packaging/ has this version, names only options that
# CMake knows, and parses where that can be found out. --bites: the check fails on a recipe of another version,
# with an unknown option, and with a mistake of syntax.
set -eu
bites=
[ "$1" != --bites ] || { bites=1 && shift; }
root=$1 version=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check FOLDER
check() {
    dotted=$(echo "$version" | sed 's/[.]/[.]/g')
    minor=$(echo "$version" | sed 's/[.][0-9]*$//')
    while read -r file line; do
        grep -qE "$(echo "$line" | sed "s/VERSION/$dotted/; s/MINOR/$minor/")" "$1/$file" || {
            echo "packaging/$file does not have the version $version"
            return 1
        }
    done <<-END
	rpm/tern.spec ^Version: *VERSION$
	rpm/tern.spec ^%global soversion MINOR$
	spack/package.py ^ *version\("VERSION"
	easybuild/tern-$version-foss-2023a.eb ^version = 'VERSION'$
	conda/recipe.yaml ^ *version: "VERSION"$
	docker/Dockerfile [.]version=VERSION
	apptainer/tern.def ^ *Version VERSION$
	END
    # Options that are not CMake's own.
    for option in $(grep -rhoE 'TERN_[A-Z_]+' "$1" --include='*.spec' --include='*.py' --include='*.eb' \
        --include='*.yaml' --include=Dockerfile --include='*.def' | sort -u); do
        grep -qE "^ *(option|set)\($option " "$root"/CMakeLists.txt "$root"/cmake/*.cmake || {
            echo "packaging names the option $option, which CMake does not know"
            return 1
        }
    done
    if command -v rpmspec >/dev/null; then
        rpmspec -P "$1/rpm/tern.spec" >/dev/null || return 1
    fi
    python=$(command -v python3) || return 0
    for file in "$1"/spack/package.py "$1"/easybuild/*.eb; do
        "$python" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" || return 1
    done
}

[ "$bites" ] || {
    check "$root/packaging"
    exit
}
rpm_mistake=
! command -v rpmspec >/dev/null || rpm_mistake='rpm/tern.spec s/^%prep/%if 1/'
while read -r recipe change; do
    [ "$recipe" ] || continue
    rm -rf "$work/packaging"
    cp -R "$root/packaging" "$work"
    sed -i "$change" "$work/packaging/$recipe"
    if check "$work/packaging" >"$work/output" 2>&1; then
        echo "passes although '$change' was applied to $recipe"
        exit 1
    fi
done <<END
rpm/tern.spec s/^Version:.*/Version: 9.9.9/
docker/Dockerfile s/version=[0-9.]*/version=9.9.9/
conda/recipe.yaml s/TERN_CUDA/TERN_CUBA/
spack/package.py s/def cmake_args(self):/def cmake_args(self)/
$rpm_mistake
END
