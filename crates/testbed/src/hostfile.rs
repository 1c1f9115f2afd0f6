//! Host files: which rank runs on which host, one line per run of consecutive ranks.
//!
//! ```text
//!   n0          rank 0
//!   n1:2        ranks 1 and 2 (MPICH's form)
//!   n0 slots=1  rank 3 (Open MPI's form); a host may come again
//!   # comment
//! ```

use crate::error::Error;
use nagare_plan::quoted;

/// Most ranks that a file may name: a few bytes ask for a million of them.
const MOST_RANKS: usize = 1 << 20;
/// Longest name of a host (DNS, RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;

/// The host of every rank. `file` stands for the file in errors.
///
/// # Errors
/// [`Error::Hostfile`] or [`Error::TooManyRanks`] with the first line that cannot be used.
pub fn hosts_of_ranks(text: &str, file: &str) -> Result<Vec<String>, Error> {
    let mut hosts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = || Error::Hostfile { file: quoted(file), line: number, text: quoted(line) };
        let (host, count) = entry(line).ok_or_else(wrong)?;
        if hosts.len() + count > MOST_RANKS {
            return Err(Error::TooManyRanks { file: quoted(file), line: number, most: MOST_RANKS });
        }
        hosts.extend(std::iter::repeat_n(host.to_owned(), count));
    }
    Ok(hosts)
}

/// A host and how many ranks it gets.
fn entry(line: &str) -> Option<(&str, usize)> {
    let mut words = line.split_whitespace();
    let (first, second) = (words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    let (host, count) = match second {
        Some(slots) => (first, slots.strip_prefix("slots=")?),
        None => first.rsplit_once(':').unwrap_or((first, "1")),
    };
    let count = count.parse().ok().filter(|count| (1..=MOST_RANKS).contains(count));
    (1..=LONGEST_NAME).contains(&host.len()).then_some(host).zip(count)
}

#[cfg(test)]
mod tests {
    use super::hosts_of_ranks;

    #[test]
    fn both_forms_and_hosts_that_come_again() {
        let text = "# ranks\nn0\n\n n1:2 # two\nn0 slots=1\n";
        assert_eq!(hosts_of_ranks(text, "f").unwrap(), ["n0", "n1", "n1", "n0"]);
    }

    #[test]
    fn faults_are_named_by_line() {
        for line in ["n0:0", "n0:x", "n0 2", "n0 slots=", ":2", "n0 slots=1 max_slots=2"] {
            let error = hosts_of_ranks(&format!("n1\n{line}\n"), "hosts").unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("hosts:2: '{line}' is no line of a host file; expected HOST, HOST:N or HOST slots=N")
            );
        }
    }
}
