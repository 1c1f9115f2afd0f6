#!/usr/bin/env bash
# Installs what `make` has built, or removes it again. Builds nothing, so that root needs no compiler.
#   PREFIX=/opt/nagare/0.1.0 DESTDIR=/tmp/root scripts/install.sh install
#   PREFIX=/opt/nagare/0.1.0 DESTDIR=/tmp/root scripts/install.sh uninstall
# PREFIX (/usr/local) is where the files will be used, DESTDIR a root below which they are put. NAGARE names another
# command than target/release/nagare.
# Every file is written beside its place and renamed into it: processes that have the old one mapped keep it.
set -euo pipefail
umask 022
usage="usage: PREFIX=DIRECTORY [DESTDIR=DIRECTORY] scripts/install.sh install|uninstall"
action=${1:?$usage}
top=$(cd "$(dirname "$0")/.." && pwd)
prefix=${PREFIX:-/usr/local}
prefix=${prefix%/}
destdir=${DESTDIR:-}
# Files and directories that are Nagare's, one a line, relative to PREFIX; directories that it made end in a slash.
list=share/nagare/installed

fail() { echo "$action: $*" >&2; exit 2; }

# What module files, shells and LD_PRELOAD can hold without quotes.
[[ $prefix == /* && ! $prefix =~ [^[:alnum:]/._+@~=-] && $prefix/ != */../* ]] ||
    fail "PREFIX=$prefix: expected an absolute path of letters, digits and / . _ + - = @ ~"
[[ -z $destdir || $destdir == /* ]] || fail "DESTDIR=$destdir: expected an absolute path, or nothing"
root=$destdir$prefix

work=$(mktemp -d)
temporary=
trap 'rm -rf "$work" ${temporary:+"$temporary"}' EXIT

# A directory below PREFIX, and those above it; notes what it makes.
make_directory() { # directory
    [[ ! -d $root/$1 ]] || return 0
    [[ $1 == . ]] || make_directory "$(dirname "$1")"
    mkdir -p "$root/$1"
    echo "$1/" >>"$work/installed"
}

put() { # mode source place
    make_directory "$(dirname "$3")"
    [[ ! -d $root/$3 ]] || fail "$root/$3 is a directory, expected a file or nothing"
    temporary=$(mktemp "$root/$3.XXXXXX")
    cp "$2" "$temporary"
    chmod "$1" "$temporary"
    mv -fT "$temporary" "$root/$3"
    temporary=
    echo "$3" >>"$work/installed"
}

# A template with its names filled in.
fill() { # template family name
    sed -e "s|@PREFIX@|$prefix|g; s|@VERSION@|$version|g; s|@FAMILY@|$2|g; s|@MPI@|$3|g" \
        -e "/@PRELOADS@/ { r $work/preloads" -e "d }" "$top/packaging/$1" >"$work/filled"
}

# Removes files of a list, then the directories of it that are empty, the innermost first.
remove() { # list
    local line
    while read -r line; do
        [[ $line != /* && /$line/ != */../* ]] || fail "$root/$list: $line: expected a path below PREFIX"
        [[ $line == */ ]] || rm -f "$root/$line"
    done <"$1"
    { grep '/$' "$1" || true; } | LC_ALL=C sort -r | while read -r line; do
        [[ $line != ./ ]] || line=
        rmdir "$root/$line" 2>/dev/null || true
    done
}

install() {
    local command=${NAGARE:-$top/target/release/nagare} notices=$top/target/notices.txt families=() family name file
    for family in openmpi mpich; do
        [[ ! -f $top/target/$family/release/libnagare.so ]] || families+=("$family")
    done
    [[ -x $command ]] || fail "no $command: build first, with \`make\`"
    [[ ${#families[@]} -gt 0 ]] || fail "no target/*/release/libnagare.so: build first, with \`make\`"
    [[ -f $notices ]] || fail "no $notices: build first, with \`make\`"
    version=$("$command" --version)
    version=${version##* }
    touch "$work/preloads"

    put 755 "$command" bin/nagare
    for family in "${families[@]}"; do
        for file in libnagare.so nagare-bench; do
            if [[ -f $top/target/$family/release/$file ]]; then
                put 755 "$top/target/$family/release/$file" "lib/nagare/$family/$file"
            else
                echo "install: no target/$family/release/$file: \`nagare bench\` and \`tune\` will not run there" >&2
            fi
        done
        echo "$family=\${prefix}/lib/nagare/$family/libnagare.so" >>"$work/preloads"
        name=MPICH
        [[ $family != openmpi ]] || name="Open MPI"
        for file in "" .lua; do
            fill "modulefile${file:-.tcl}.in" "$family" "$name"
            put 644 "$work/filled" "share/nagare/modulefiles/nagare/$version-$family$file"
        done
    done
    [[ ! -f $top/target/nagare_spank.so ]] || put 755 "$top/target/nagare_spank.so" lib/nagare/nagare_spank.so
    fill nagare.pc.in "" ""
    put 644 "$work/filled" share/pkgconfig/nagare.pc
    put 644 "$top/c_api/nagare.h" include/nagare.h
    "$command" pages "$work/share"
    while read -r file; do
        put 644 "$work/$file" "$file"
    done < <(cd "$work" && find share -type f | LC_ALL=C sort)
    for file in LICENSE-MIT LICENSE-APACHE CHANGELOG.md CITATION.cff; do
        put 644 "$top/$file" "share/doc/nagare/$file"
    done
    for file in "$top"/docs/*.md; do
        put 644 "$file" "share/doc/nagare/${file##*/}"
    done
    for file in "$top"/docs/decisions/*.md; do
        put 644 "$file" "share/doc/nagare/decisions/${file##*/}"
    done
    put 644 "$notices" share/doc/nagare/notices.txt

    # What an older version had and this one has not; what was made for it stays ours.
    if [[ -f $root/$list ]]; then
        LC_ALL=C sort -u "$root/$list" | LC_ALL=C comm -23 - <(LC_ALL=C sort -u "$work/installed") >"$work/old"
        remove "$work/old"
        { grep '/$' "$work/old" || true; } | while read -r file; do
            [[ ! -d $root/$file ]] || echo "$file" >>"$work/installed"
        done
    fi
    make_directory "$(dirname "$list")"
    echo "$list" >>"$work/installed"
    LC_ALL=C sort -u "$work/installed" >"$work/sorted"
    put 644 "$work/sorted" "$list"
    echo "installed Nagare $version for ${families[*]} in $root"
}

uninstall() {
    [[ -f $root/$list ]] || fail "no $root/$list: nothing was installed there by \`make install\`"
    cp "$root/$list" "$work/list"
    remove "$work/list"
    echo "removed from $root"
}

case $action in
install) install ;;
uninstall) uninstall ;;
*) echo "$usage" >&2; exit 2 ;;
esac
