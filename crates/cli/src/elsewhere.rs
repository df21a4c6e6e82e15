//! Commands of streams on systems that have none.

use crate::failure::Failure;

/// Whatever is said.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<String>,
}

/// Says so.
pub(crate) fn run(command: &'static str) -> Result<(), Failure> {
    Err(Failure::NotHere { command })
}
