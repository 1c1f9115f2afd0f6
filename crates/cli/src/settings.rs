//! What plans are made with: the variables of this environment, as ranks of a job would have them.

use crate::output::tell;
use nagare_config::Config;

/// The values of the variables. What is wrong with them is told on standard error; the defaults hold instead, as in a
/// job.
pub fn configuration() -> Config {
    let (config, problems) = Config::from_vars(std::env::vars_os());
    problems.iter().for_each(|problem| tell!("{problem}"));
    config
}
