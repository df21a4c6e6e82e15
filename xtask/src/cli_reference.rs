//! The command reference `docs/cli.md`: the help of the command `tenure` and of its subcommands,
//! as the command prints it.

use std::fmt::Write as _;

use crate::cargo;
use crate::generated::Page;
use crate::{Failure, Outcome};

const HEAD: &str = "\
# The command `tenure`

<!-- Written by `cargo xtask cli-reference` from the help of the command: change it there. -->
";

/// The reference as it should be.
pub(crate) fn page() -> Outcome<Page> {
    let mut text = HEAD.to_owned();
    let main = help(&[])?;
    section(&mut text, &[], &main);
    let mut waiting: Vec<Vec<String>> = below(&[], &main);
    if waiting.is_empty() {
        return Err(Failure::new("`tenure help` lists no command; is there a `Commands:` part?"));
    }
    waiting.reverse();
    while let Some(path) = waiting.pop() {
        let own = help(&path)?;
        section(&mut text, &path, &own);
        waiting.extend(below(&path, &own).into_iter().rev());
    }
    Ok(Page { path: "docs/cli.md".into(), text, chore: "cli-reference" })
}

/// What the command prints when asked for help on `path`.
fn help(path: &[String]) -> Outcome<String> {
    let mut command = cargo::cargo();
    command.current_dir(cargo::root()?).env("NO_COLOR", "1").env("COLUMNS", "100");
    command.args(["run", "--quiet", "--package", "tenure-cli", "--"]);
    command.args(path).arg(if path.is_empty() { "help" } else { "--help" });
    cargo::output(&mut command)
}

fn section(text: &mut String, path: &[String], help: &str) {
    if !path.is_empty() {
        let _ = write!(text, "\n## `tenure {}`\n", path.join(" "));
    }
    text.push_str("\n```text\n");
    for line in help.trim().lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("```\n");
}

fn below(path: &[String], help: &str) -> Vec<Vec<String>> {
    commands(help).map(|name| [path, &[name.to_owned()]].concat()).collect()
}

/// The names in the part `Commands:` of a help text.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let part = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let part = part.take_while(|line| !line.trim().is_empty());
    let names = part.filter_map(|line| line.strip_prefix("  "));
    // A deeper indent is the rest of a description.
    let names = names.filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Memory for tensors

Usage: tenure <COMMAND>

Commands:
  info  What this machine offers, and a description that is so long that it goes on in the next
        line
  plan  Plan memory
  help  Print this message

Options:
  -h, --help  Print help
";

    #[test]
    fn commands_are_found() {
        assert_eq!(commands(HELP).collect::<Vec<_>>(), ["info", "plan"]);
        assert_eq!(commands("Usage: tenure info\n").count(), 0);
    }

    #[test]
    fn a_section_is_the_help_without_trailing_space() {
        let mut text = String::new();
        section(&mut text, &["info".to_owned()], "one  \n\n  two\n\n");
        assert_eq!(text, "\n## `tenure info`\n\n```text\none\n\n  two\n```\n");
    }
}
