//! The rules for dependencies: licence, source, banned crates, one version of each crate, and a
//! current lock file; and each direct dependency has its reason in `docs/dependencies.md`. Works
//! without a network; what is allowed is in `policy`.

mod policy;
mod spdx;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::cargo::{self, Metadata, Package};
use crate::{Failure, Outcome};

/// Where the reason for every direct dependency is.
const REASONS: &str = "docs/dependencies.md";

/// Checks the workspace, and the fuzz crate beside it if there is one.
pub(crate) fn check() -> Outcome {
    let root = cargo::root()?;
    let main = Metadata::resolved(&root.join("Cargo.toml"))?;
    let reasons = fs::read_to_string(root.join(REASONS))
        .map_err(|error| Failure::new(format!("{REASONS}: {error}")))?;
    let mut problems = duplicates(&main)?;
    problems.extend(without_reason(&main, &reasons));
    problems.extend(packages(&main, &root));
    problems.extend(tools_in_products(&main)?);

    let fuzz = root.join("fuzz").join("Cargo.toml");
    if fuzz.exists() {
        let fuzz = Metadata::resolved(&fuzz)?;
        problems.extend(without_reason(&fuzz, &reasons));
        problems.extend(packages(&fuzz, &root));
    }

    Failure::unless_empty("dependencies that break the rules of xtask/src/licences", &problems)?;
    println!(
        "{} packages: licences, sources and versions are as they should be",
        main.packages.len()
    );
    Ok(())
}

/// What is wrong with each package by itself.
fn packages(metadata: &Metadata, root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for package in &metadata.packages {
        let name = format!("{} {}", package.name, package.version);
        let problem = [source_problem(package, root), licence_problem(package), ban(package)];
        problems.extend(problem.into_iter().flatten().map(|problem| format!("{name}: {problem}")));
    }
    problems
}

fn source_problem(package: &Package, root: &Path) -> Option<String> {
    match &package.source {
        Some(source) if policy::SOURCES.contains(&source.as_str()) => None,
        Some(source) => Some(format!("comes from {source}, not from crates.io")),
        None if package.manifest_path.starts_with(root) => None,
        None => Some(format!(
            "is a path outside of the repository: {}",
            package.manifest_path.display()
        )),
    }
}

fn licence_problem(package: &Package) -> Option<String> {
    let from_file = policy::LICENCE_FILES.iter().find(|(name, _)| *name == package.name);
    let stated = package.license.as_deref().or(from_file.map(|(_, licence)| *licence));
    let Some(licence) = stated else {
        return Some("states no licence".to_owned());
    };
    if policy::TOOLS.contains(&(package.name.as_str(), licence)) {
        return None;
    }
    match spdx::parse(licence) {
        Ok(expression) if expression.holds(&|one| policy::LICENCES.contains(&one)) => None,
        Ok(_) => Some(format!(
            "licence `{licence}` is not allowed; allowed are {}",
            policy::LICENCES.join(", ")
        )),
        Err(reason) => Some(format!("licence `{licence}` is not understood: {reason}")),
    }
}

fn ban(package: &Package) -> Option<String> {
    let banned = policy::BANNED.iter().find(|(name, _)| *name == package.name);
    banned.map(|(_, reason)| format!("is banned: {reason}"))
}

/// Direct dependencies of the repository's packages that have no row in `reasons`.
fn without_reason(metadata: &Metadata, reasons: &str) -> BTreeSet<String> {
    let rows = reasons.lines().filter(|line| line.starts_with('|'));
    let names = rows.filter_map(|row| row.split('|').nth(1));
    let known: BTreeSet<&str> = names.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();

    let members: BTreeSet<&str> = metadata.members().map(|package| package.id.as_str()).collect();
    let nodes = metadata.resolve.as_ref().map_or(&[][..], |resolve| &resolve.nodes);
    let ours = nodes.iter().filter(|node| members.contains(node.id.as_str()));
    let direct: BTreeSet<&str> =
        ours.flat_map(|node| &node.deps).map(|edge| edge.pkg.as_str()).collect();
    let packages = metadata.packages.iter();
    let packages = packages.filter(|package| direct.contains(package.id.as_str()));
    // Packages of the repository have a reason of their own.
    packages
        .filter(|package| !package.name.starts_with("tenure"))
        .filter(|package| !known.contains(package.name.as_str()))
        .map(|package| format!("{}: has no row in {REASONS} that says why", package.name))
        .collect()
}

/// Tools that became part of the product.
fn tools_in_products(metadata: &Metadata) -> Outcome<Vec<String>> {
    let versions = normal_versions(metadata, policy::PRODUCTS)?;
    let inside = policy::TOOLS.iter().filter(|(name, _)| versions.contains_key(name));
    let problem = |(name, licence): &(&str, &str)| {
        format!("{name}: is in the product, but its licence {licence} is for tools alone")
    };
    Ok(inside.map(problem).collect())
}

/// Crates that are part of the product in two versions.
fn duplicates(metadata: &Metadata) -> Outcome<Vec<String>> {
    let versions = normal_versions(metadata, policy::PRODUCTS)?;
    let reason = |name: &str| policy::DUPLICATES.iter().find(|(listed, _)| *listed == name);
    let twice = |name: &str| versions.get(name).is_some_and(|versions| versions.len() > 1);

    let unlisted = versions.iter().filter(|(name, all)| all.len() > 1 && reason(name).is_none());
    let unlisted = unlisted.map(|(name, all)| {
        let all = all.iter().copied().collect::<Vec<_>>().join(" and ");
        format!(
            "{name}: versions {all} are both in the product; see `cargo tree --duplicates`, \
             or give a reason in DUPLICATES"
        )
    });
    let stale = policy::DUPLICATES.iter().filter(|(name, _)| !twice(name));
    let stale = stale.map(|(name, _)| format!("{name}: in DUPLICATES, but there is only one"));
    Ok(unlisted.chain(stale).collect())
}

/// The versions of every package that becomes part of `products`: what only their tests, build
/// scripts or procedural macros need does not.
fn normal_versions<'a>(
    metadata: &'a Metadata,
    products: &[&str],
) -> Outcome<BTreeMap<&'a str, BTreeSet<&'a str>>> {
    let nodes = metadata.resolve.as_ref().map_or(&[][..], |resolve| &resolve.nodes);
    let nodes: BTreeMap<_, _> = nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let macros = metadata.packages.iter().filter(|package| package.has_target("proc-macro"));
    let macros: BTreeSet<_> = macros.map(|package| package.id.as_str()).collect();
    let mut waiting = Vec::new();
    for product in products {
        let package = metadata.members().find(|package| package.name == *product);
        let missing = || Failure::new(format!("the workspace has no package `{product}`"));
        waiting.push(package.ok_or_else(missing)?.id.as_str());
    }

    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if macros.contains(id) || !seen.insert(id) {
            continue;
        }
        for edge in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
            if edge.dep_kinds.iter().any(|kind| kind.kind.is_none()) {
                waiting.push(&edge.pkg);
            }
        }
    }

    let mut versions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for package in metadata.packages.iter().filter(|package| seen.contains(package.id.as_str())) {
        versions.entry(package.name.as_str()).or_default().insert(package.version.as_str());
    }
    Ok(versions)
}

#[cfg(test)]
mod tests;
