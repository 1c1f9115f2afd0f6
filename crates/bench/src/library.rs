//! Which file the MPI library of a process is.

/// How the names of such files begin, with Open MPI and with MPICH.
const NAMES: [&str; 2] = ["libmpi.so", "libmpich.so"];

/// The library's file, by what the process has mapped (`/proc/self/maps`).
pub fn mapped(maps: &str) -> Option<&str> {
    // Address, rights, offset, device and inode come before the path, which may have spaces.
    maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).find(|path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        NAMES.iter().any(|start| name.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_among_others() {
        let maps = "55d0-55d1 r-xp 00000000 08:01 9 /usr/bin/app\n\
                    7f00-7f01 r-xp 00000000 08:01 1 /opt/nagare/libnagare.so\n\
                    7f02-7f03 r-xp 00000000 08:01 2 /usr/lib/libmpichfort.so.12.2.2\n\
                    7f04-7f05 r-xp 00000000 08:01 3 /opt/my mpi/lib/libmpich.so.12.2.2\n\
                    7f06-7f07 rw-p 00000000 00:00 0\n";
        assert_eq!(mapped(maps), Some("/opt/my mpi/lib/libmpich.so.12.2.2"));
        assert_eq!(mapped("55d0-55d1 r-xp 00000000 08:01 9 /usr/bin/app\n"), None);
    }
}
