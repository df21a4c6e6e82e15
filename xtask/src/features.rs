//! Every feature of every library alone: features that only build together, and code that is dead
//! without them, are found here. All features at once are the business of the clippy step.

use std::process::Command;

use crate::cargo::{self, Metadata, Package};
use crate::{Failure, Outcome};

/// Runs all checks; warnings are errors.
pub(crate) fn check() -> Outcome {
    for mut command in commands()? {
        println!("{}", cargo::show(&command));
        cargo::run(&mut command)?;
    }
    Ok(())
}

/// Prints the command lines of all checks.
pub(crate) fn list() -> Outcome {
    for command in commands()? {
        println!("{}", cargo::show(&command));
    }
    Ok(())
}

fn commands() -> Outcome<Vec<Command>> {
    let root = cargo::root()?;
    let metadata = Metadata::workspace(&root.join("Cargo.toml"))?;
    let libraries = metadata.members().filter(|package| package.has_library());
    let mut commands = Vec::new();
    for package in libraries {
        for options in selections(package) {
            let mut command = cargo::cargo();
            command.current_dir(&root);
            command.args(["clippy", "--quiet", "--lib", "--package", &package.name]);
            command.args(options).args(["--", "--deny", "warnings"]);
            commands.push(command);
        }
    }
    if commands.is_empty() {
        return Err(Failure::new("the workspace has no library: there is nothing to check"));
    }
    Ok(commands)
}

/// The feature options to check `package` with: none, each alone, the default.
fn selections(package: &Package) -> Vec<Vec<String>> {
    let none = || vec!["--no-default-features".to_owned()];
    let names = package.features.keys().filter(|name| *name != "default");
    let alone = names.map(|name| [none(), vec![format!("--features={name}")]].concat());
    let default = package.features.contains_key("default").then(Vec::new);
    std::iter::once(none()).chain(alone).chain(default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(features: &str) -> Package {
        let text = format!(
            r#"{{"id": "p", "name": "p", "version": "1.0.0", "license": null, "source": null,
                "manifest_path": "Cargo.toml", "targets": [], "features": {features}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_package_without_features_is_checked_once() {
        assert_eq!(selections(&package("{}")), [["--no-default-features"]]);
    }

    #[test]
    fn each_feature_is_checked_alone() {
        let selections = selections(&package(r#"{"default": ["a"], "a": [], "b": ["a"]}"#));
        let lines: Vec<_> = selections.iter().map(|options| options.join(" ")).collect();
        assert_eq!(
            lines,
            [
                "--no-default-features",
                "--no-default-features --features=a",
                "--no-default-features --features=b",
                "",
            ]
        );
    }
}
