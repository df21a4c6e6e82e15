//! Asking cargo: where the repository is, what `cargo metadata` says, and running a subcommand.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::{Failure, Outcome};

/// The part of `cargo metadata` that the chores use.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) target_directory: PathBuf,
    pub(crate) resolve: Option<Resolve>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// Where it was downloaded from; nothing for a path.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) targets: Vec<Target>,
}

#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    #[serde(default, rename = "required-features")]
    pub(crate) required_features: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

#[derive(Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) deps: Vec<Edge>,
}

#[derive(Deserialize)]
pub(crate) struct Edge {
    pub(crate) pkg: String,
    pub(crate) dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
pub(crate) struct EdgeKind {
    /// `dev`, `build`, or nothing for a normal dependency.
    pub(crate) kind: Option<String>,
}

impl Metadata {
    /// The packages of the workspace alone.
    pub(crate) fn workspace(manifest: &Path) -> Outcome<Self> {
        Self::read(manifest, &["--no-deps"])
    }

    /// All packages and how they depend on each other; fails if the lock file is not current.
    pub(crate) fn resolved(manifest: &Path) -> Outcome<Self> {
        Self::read(manifest, &["--locked", "--all-features"])
    }

    fn read(manifest: &Path, options: &[&str]) -> Outcome<Self> {
        let mut command = cargo();
        command.args(["metadata", "--format-version=1", "--manifest-path"]).arg(manifest);
        let text = output(command.args(options))?;
        serde_json::from_str(&text)
            .map_err(|error| Failure::new(format!("cargo metadata: not understood: {error}")))
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

impl Package {
    pub(crate) fn has_library(&self) -> bool {
        ["lib", "rlib", "cdylib", "staticlib", "proc-macro"]
            .iter()
            .any(|kind| self.has_target(kind))
    }

    pub(crate) fn has_target(&self, kind: &str) -> bool {
        self.targets.iter().any(|target| target.is(kind))
    }
}

impl Target {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|own| own == kind)
    }
}

/// The root of the repository.
pub(crate) fn root() -> Outcome<PathBuf> {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| {
        Failure::new("start this as `cargo xtask`: CARGO_MANIFEST_DIR is not set")
    })?;
    let root = Path::new(&own).parent();
    root.map(Path::to_owned).ok_or_else(|| Failure::new("the package xtask is in no folder"))
}

/// A command line that starts the cargo that started us.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs `command` with our terminal as its own.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("{}: {status}", show(command))))
}

/// Runs `command` and returns what it wrote to standard output.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let message = format!("{}: {}\n{}", show(command), output.status, complaint.trim_end());
        return Err(Failure::new(message));
    }
    String::from_utf8(output.stdout)
        .map_err(|error| Failure::new(format!("{}: {error}", show(command))))
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", show(command)))
}

/// The command line as one would type it.
pub(crate) fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
