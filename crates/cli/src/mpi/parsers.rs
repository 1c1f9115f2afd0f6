//! What launchers print, what programs' files hold and what users put on launchers' command lines, mutated.

use super::Family;
use super::elf::Dynamic;
use super::launcher::{Kind, recognise};
use super::preload::Preload;
use nagare_mutate::{cases, checked, texts};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const VERSIONS: &[&str] = &[
    "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to …\n",
    "mpirun (Open MPI) 5.0.11\n\nReport bugs to …\n",
    "HYDRA build details:\n    Version:      4.0.2\n    CC: gcc\n",
    "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307 (id: d82b3071db)\n",
    "slurm 23.11.4\n",
];
const LIBRARIES: &[&str] = &["libmpi.so.40", "libmpi_mpifh.so.40", "libmpich.so.12", "libmpi_usempif08.so.40.30.0"];
const LINES: &[&str] = &[
    "-np 2 ./a : -x NAGARE_LOG=info -np 1 ./b",
    "-x LD_PRELOAD=t.so ./a",
    "-genv LD_PRELOAD t.so -n 2 ./a : -env A=1 ./b",
    "-envlist A,B -n 1 -env LD_PRELOAD=t.so ./a",
    "-n 2 --export ALL,LD_PRELOAD=t.so,A=1 ./a",
];

proptest! {
    #![proptest_config(cases(5000))]

    #[test]
    fn versions_of_launchers(text in texts(VERSIONS, &["(Open MPI)", "Version:", "slurm"])) {
        checked(text.as_str(), recognise);
    }

    #[test]
    fn names_of_libraries(text in texts(LIBRARIES, &[".so.", "libmpi"])) {
        checked(text.as_str(), Family::of_needed);
    }

    /// The user's own words stay, in their order, and the library is named once in every way that sets it.
    #[test]
    fn command_lines_of_launchers(line in texts(LINES, &["-x", "-genv", "-env", "--export=", ":", "LD_PRELOAD="])) {
        checked(line.as_str(), |line| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let variables = ["NAGARE_LOG".to_owned()];
            let preload = Preload {
                library: "/n/libnagare.so",
                environment: Some("e.so"),
                slurm_export: None,
                variables: &variables,
            };
            for kind in [Kind::OpenMpi, Kind::Hydra, Kind::Srun] {
                let Ok(arguments) = preload.arguments(kind, &words) else { continue };
                assert!(arguments.iter().any(|word| word.contains("/n/libnagare.so")), "{kind:?} {arguments:?}");
            }
        });
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn damaged_programs(
        changes in vec((select(&[64usize, 1024, 1 << 20][..]), any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let mut bytes = std::fs::read("/bin/true").expect("a program");
        for (within, at, byte) in &changes {
            let within = (*within).min(bytes.len());
            bytes[at.index(within)] = *byte;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        checked(&changes, |_| Dynamic::parse(&bytes).map(|dynamic| dynamic.family()).ok());
    }
}
