#!/usr/bin/env bash
# A Debian package of what `make` has built: target/nagare_VERSION_ARCHITECTURE.deb, for the Debian it was built on.
# DEBFULLNAME and DEBEMAIL say who answers for it.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
for tool in dpkg-deb dpkg-shlibdeps strip; do
    command -v "$tool" >/dev/null && continue
    echo "deb: no $tool; the Debian packages dpkg, dpkg-dev and binutils have it" >&2
    exit 2
done

version=$(target/release/nagare --version)
version=${version##* }-1
maintainer="${DEBFULLNAME:-The Nagare developers} <${DEBEMAIL:-nagare@nagare.invalid}>"
architecture=$(dpkg --print-architecture)
work=$PWD/target/deb
root=$work/root
rm -rf "$work"
mkdir -p "$work/debian" "$root/DEBIAN"
PREFIX=/usr DESTDIR=$root scripts/install.sh install >/dev/null

# dpkg keeps its own list, and Debian its own places.
rm "$root/usr/share/nagare/installed"
mkdir -p "$root/usr/share/zsh/vendor-completions"
mv "$root/usr/share/zsh/site-functions/_nagare" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
find "$root/usr/share/man" -type f -exec gzip -9n {} +
mapfile -t libraries < <(find "$root/usr/lib/nagare" -name '*.so')
benches=("$root"/usr/lib/nagare/*/nagare-bench)
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/nagare" "${libraries[@]}" \
    "${benches[@]}"

# The licences in the form that Debian asks for; the changes as ours, and as the package's.
documents=$root/usr/share/doc/nagare
{
    cat packaging/debian/copyright
    sed 's/^/  /; s/ *$//' LICENSE-MIT
} >"$documents/copyright"
gzip -9n "$documents/notices.txt"
rm "$documents"/{LICENSE-MIT,LICENSE-APACHE}
mv "$documents/CHANGELOG.md" "$documents/changelog"
date=$(git log -1 --format=%cD 2>/dev/null || date -R)
sed -e "s|@VERSION@|$version|; s|@DATE@|$date|; s|@MAINTAINER@|$maintainer|" \
    packaging/debian/changelog.in >"$documents/changelog.Debian"
gzip -9n "$documents"/{changelog,changelog.Debian}
mkdir -p "$root/usr/share/lintian/overrides"
cp packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/nagare"

# The command and the libraries need no MPI; the benchmark's programs need their own.
printf 'Source: nagare\n\nPackage: nagare\nArchitecture: any\n' >"$work/debian/control"
(cd "$work" && dpkg-shlibdeps -O"$work/substvars" -dDepends -e"$root/usr/bin/nagare" "${libraries[@]/#/-e}" \
    -dSuggests "${benches[@]/#/-e}")
dependencies() { sed -n "s/^shlibs:$1=//p" "$work/substvars"; }

size=$(du -k -s --apparent-size "$root/usr" | cut -f1)
sed -e "s|@VERSION@|$version|; s|@ARCHITECTURE@|$architecture|; s|@SIZE@|$size|; s|@MAINTAINER@|$maintainer|" \
    -e "s|@DEPENDS@|$(dependencies Depends)|; s|@SUGGESTS@|$(dependencies Suggests)|" \
    packaging/debian/control.in >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
package=target/nagare_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "written: $package"
