#!/usr/bin/env bash
# The sources of the last commit, as target/nagare-VERSION.tar.gz. What is not committed is not in it.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=nagare-$version
[[ -z $(git status --porcelain --untracked-files=no) ]] ||
    echo "dist: there are changes that are not committed; the archive is without them" >&2
mkdir -p target
git archive --prefix="$name/" --format=tar.gz --output="target/$name.tar.gz" HEAD
echo "written: target/$name.tar.gz, of commit $(git rev-parse --short HEAD)"
