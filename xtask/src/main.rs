//! The chores of the repository, as `cargo xtask <command>`: checks that need more than one line
//! of shell, and the files that are generated and checked in. Nothing here is part of a release.
#![forbid(unsafe_code)]

mod c_header;
mod c_install;
mod cargo;
mod cli_reference;
mod examples;
mod failure;
mod features;
mod generated;
mod licences;
mod links;
#[cfg(test)]
mod published;
mod unsafe_table;

use std::process::ExitCode;

use c_install::Profile;
use failure::{Failure, Outcome};

const HELP: &str = "\
The chores of the repository

Usage: cargo xtask <command>

Commands:
  licences                  check licences, sources, bans, duplicates and reasons of all
                            dependencies
  features [--list]         check every feature of every library alone, or list the checks
  features --together       print all features but those of the bridge, for cargo's --features
  examples                  run every example of the package `tenure`
  generated [--check]       write all generated files, or fail if one is not current or a link
                            between documents leads nowhere
  links                     only the links between documents
  unsafe-table [--check]    only the table of unsafe code, docs/unsafe.md
  cli-reference [--check]   only the command reference docs/cli.md
  c-header [--check]        only the header of the C library, tenure.h
  c-install PREFIX [--debug [TARGET]]
                            build the C library and put it, its header and its pkg-config file
                            below PREFIX";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Outcome {
    match words {
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        ["licences"] => licences::check(),
        ["features"] => features::check(),
        ["features", "--list"] => features::list(),
        ["features", "--together"] => features::together(),
        ["examples"] => examples::run(),
        ["generated"] => generated::write(generated::ALL),
        ["generated", "--check"] => {
            links::check()?;
            generated::check(generated::ALL)
        }
        ["links"] => links::check(),
        ["unsafe-table"] => generated::write(&[unsafe_table::page]),
        ["unsafe-table", "--check"] => generated::check(&[unsafe_table::page]),
        ["cli-reference"] => generated::write(&[cli_reference::page]),
        ["cli-reference", "--check"] => generated::check(&[cli_reference::page]),
        ["c-header"] => generated::write(&[c_header::page]),
        ["c-header", "--check"] => generated::check(&[c_header::page]),
        ["c-install", prefix] => c_install::install(prefix, Profile::Release, None),
        ["c-install", prefix, "--debug"] => c_install::install(prefix, Profile::Dev, None),
        ["c-install", prefix, "--debug", target] => {
            c_install::install(prefix, Profile::Dev, Some(target))
        }
        _ => Err(Failure::new(format!("unknown command `{}`\n\n{HELP}", words.join(" ")))),
    }
}
