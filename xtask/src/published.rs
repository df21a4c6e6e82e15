//! What crates.io and docs.rs are told of every published package: checked, as nobody sees it before
//! a release.

use serde_json::Value;

use crate::cargo;

/// The published packages, as `cargo metadata` describes them.
fn packages() -> Vec<Value> {
    let mut command = cargo::cargo();
    command.args(["metadata", "--format-version=1", "--no-deps", "--manifest-path"]);
    let manifest = cargo::root().unwrap().join("Cargo.toml");
    let text = cargo::output(command.arg(manifest)).unwrap();
    let mut metadata: Value = serde_json::from_str(&text).unwrap();
    let Value::Array(packages) = metadata["packages"].take() else { panic!("no packages") };
    // An empty list of registries is `publish = false`.
    let published: Vec<_> = packages.into_iter().filter(|one| one["publish"].is_null()).collect();
    assert!(published.iter().any(|one| one["name"] == "tenure") && published.len() > 10);
    published
}

#[test]
fn packages_can_be_found() {
    for package in packages() {
        let name = &package["name"];
        let words = |key: &str| package[key].as_array().map_or(0, Vec::len);
        for key in ["keywords", "categories"] {
            assert!((1..=5).contains(&words(key)), "{name}: 1 to 5 {key}, got {}", words(key));
        }
        let short = |word: &Value| word.as_str().is_some_and(|word| word.len() <= 20);
        assert!(
            package["keywords"].as_array().unwrap().iter().all(short),
            "{name}: a long keyword"
        );
        assert!(package["description"].is_string(), "{name} has no description");
    }
}

#[test]
fn their_pages_show_all_features() {
    for package in packages() {
        let all = &package["metadata"]["docs"]["rs"]["all-features"];
        assert_eq!(*all, true, "{}: [package.metadata.docs.rs] all-features", package["name"]);
    }
}

/// Packages that were not tested together are not built together.
#[test]
fn our_own_packages_are_pinned() {
    for package in packages() {
        let version = format!("={}", package["version"].as_str().unwrap());
        for dependency in package["dependencies"].as_array().unwrap() {
            // Those for tests are not published.
            let ours = dependency["path"].is_string() && dependency["kind"] != "dev";
            let (name, needed) = (&dependency["name"], &dependency["req"]);
            assert!(!ours || *needed == *version, "{}: {name} {needed}", package["name"]);
        }
    }
}
