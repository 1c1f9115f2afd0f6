#!/usr/bin/env bash
# Prints the licences of the packages that are linked into what `make install` installs, each text once. Binary copies
# must carry them along.
#   scripts/notices.sh > target/notices.txt
set -euo pipefail
shopt -s nullglob nocaseglob
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

# `name-version` of every package of others that is linked, and its licence.
packages() {
    local options
    for options in "nagare" "nagare-cli" "nagare-bench --features program"; do
        # shellcheck disable=SC2086
        "$cargo" tree --locked --no-dedupe --prefix none --edges normal,no-proc-macro --format "{p}|{l}" \
            --package $options
    done | awk -F '|' '!/\(\// { split($1, words, " "); print words[1] "-" substr(words[2], 2), $2 }' | LC_ALL=C sort -u
}

# The directories of all packages, which are called so.
directories() {
    local host
    host=$(rustc -vV | sed -n 's/^host: //p')
    "$cargo" metadata --locked --format-version 1 --filter-platform "$host" |
        grep -o '"manifest_path":"[^"]*/Cargo.toml"' | sed 's/^"manifest_path":"//; s/\/Cargo.toml"$//'
}

declare -A of users
while read -r directory; do
    of[${directory##*/}]=$directory
done < <(directories)
texts=()
without=()
while read -r package licence; do
    found=
    for file in "${of[$package]:?no directory of $package}"/{license,licence,copying,notice,unlicense}*; do
        [[ -f $file ]] || continue
        sum=$(md5sum <"$file")
        [[ -n ${users[$sum]:-} ]] || texts+=("$sum $file")
        users[$sum]+=" $package"
        found=yes
    done
    [[ -n $found ]] || without+=("$package ($licence)")
done < <(packages)

echo "Nagare itself is under MIT or Apache-2.0. It contains the packages below, at their authors' terms, and parts of"
echo "Rust's standard library (MIT or Apache-2.0). Packages that come without a text: ${without[*]:-none}."
for text in "${texts[@]}"; do
    file=${text#*- }
    sum=${text%" $file"}
    printf '\n%s\n%s\n\n' "$(printf '=%.0s' {1..100})" "$(fmt -w 100 <<<"${users[$sum]}")"
    cat "$file"
done
