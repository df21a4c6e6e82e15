//! Every feature of every library alone: features that only build together, and code that is dead
//! without them, are found here. All features at once are the business of the clippy step, which is
//! told here what they are.

use std::process::Command;

use crate::cargo::{self, Metadata, Package};
use crate::{Failure, Outcome};

/// Features that bring Zenoh, some two hundred crates that take longer than all others together. They
/// have a step of their own, `bridge`; all other steps do without them.
const APART: &[(&str, &str)] = &[
    ("tenure", "bridge"),
    ("tenure-attacks", "bridge"),
    ("tenure-bridge", "default"),
    ("tenure-bridge", "zenoh"),
    ("tenure-cli", "bridge"),
];

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

/// Prints all features of all packages but those that are apart, for one `--features`.
pub(crate) fn together() -> Outcome {
    let metadata = Metadata::workspace(&cargo::root()?.join("Cargo.toml"))?;
    let all = metadata.members().flat_map(|package| {
        names(package).map(move |feature| format!("{}/{feature}", package.name))
    });
    println!("{}", all.collect::<Vec<_>>().join(","));
    Ok(())
}

fn is_apart(package: &Package, feature: &str) -> bool {
    APART.contains(&(package.name.as_str(), feature))
}

/// The features of `package` that have a name of their own.
fn names(package: &Package) -> impl Iterator<Item = &str> {
    let names = package.features.keys().map(String::as_str);
    names.filter(|name| *name != "default" && !is_apart(package, name))
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
    let alone = names(package).map(|name| [none(), vec![format!("--features={name}")]].concat());
    let default = package.features.contains_key("default") && !is_apart(package, "default");
    let default = default.then(Vec::new);
    std::iter::once(none()).chain(alone).chain(default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, features: &str) -> Package {
        let text = format!(
            r#"{{"id": "p", "name": "{name}", "version": "1.0.0", "license": null, "source": null,
                "manifest_path": "Cargo.toml", "targets": [], "features": {features}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_package_without_features_is_checked_once() {
        assert_eq!(selections(&package("p", "{}")), [["--no-default-features"]]);
    }

    #[test]
    fn each_feature_is_checked_alone() {
        let package = package("p", r#"{"default": ["a"], "a": [], "b": ["a"]}"#);
        let selections = selections(&package);
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

    #[test]
    fn what_is_apart_is_left_out() {
        let bridge = package("tenure-bridge", r#"{"default": ["zenoh"], "zenoh": []}"#);
        assert_eq!(selections(&bridge), [["--no-default-features"]]);
        let facade = package("tenure", r#"{"bridge": [], "stream": []}"#);
        assert_eq!(names(&facade).collect::<Vec<_>>(), ["stream"]);
    }

    /// Whoever wants everything does not get a device for tests, and does not wait for Zenoh.
    #[test]
    fn full_is_all_that_is_not_apart() {
        let metadata = Metadata::workspace(&cargo::root().unwrap().join("Cargo.toml")).unwrap();
        let facade = metadata.members().find(|package| package.name == "tenure").unwrap();
        let mut full = vec!["full"];
        let mut at = 0;
        while let Some(name) = full.get(at) {
            for other in facade.features.get(*name).into_iter().flatten() {
                if facade.features.contains_key(other) && !full.contains(&other.as_str()) {
                    full.push(other);
                }
            }
            at += 1;
        }
        // `v4l2` is `camera`.
        let left: Vec<_> = names(facade).filter(|name| !full.contains(name)).collect();
        assert_eq!(left, ["test-device", "v4l2"]);
        assert_eq!(facade.features["v4l2"], ["camera"]);
    }

    #[test]
    fn what_is_apart_exists() {
        let root = cargo::root().unwrap();
        let metadata = Metadata::workspace(&root.join("Cargo.toml")).unwrap();
        for (name, feature) in APART {
            let package = metadata.members().find(|package| package.name == *name);
            let there = package.is_some_and(|package| package.features.contains_key(*feature));
            assert!(there, "{name} has no feature {feature}");
        }
    }
}
