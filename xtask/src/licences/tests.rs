//! A made-up dependency graph, judged.

use super::*;

const ROOT: &str = "/repository";
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn package(licence: &str, source: &str, manifest: &str, name: &str) -> Package {
    let text = format!(
        r#"{{"id": "id", "name": "{name}", "version": "1.0.0", "license": {licence},
            "source": {source}, "manifest_path": "{manifest}", "targets": [], "features": {{}}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn only_crates_io_and_the_repository_are_sources() {
    let from = |source: &str, manifest| {
        source_problem(&package("null", source, manifest, "p"), Path::new(ROOT))
    };
    assert_eq!(from(&format!("\"{CRATES_IO}\""), "/registry/p/Cargo.toml"), None);
    assert_eq!(from("null", "/repository/crates/p/Cargo.toml"), None);
    assert!(from("null", "/elsewhere/Cargo.toml").unwrap().contains("outside"));
    let git = from("\"git+https://example.org/p\"", "/git/p/Cargo.toml").unwrap();
    assert_eq!(git, "comes from git+https://example.org/p, not from crates.io");
}

#[test]
fn licences_are_judged() {
    let judge = |licence| licence_problem(&package(licence, "null", "Cargo.toml", "p"));
    assert_eq!(judge(r#""MIT OR Apache-2.0""#), None);
    assert_eq!(judge("null").unwrap(), "states no licence");
    assert!(judge(r#""GPL-3.0-only""#).unwrap().contains("`GPL-3.0-only` is not allowed"));
    assert!(judge(r#""MIT OR""#).unwrap().contains("not understood"));
}

#[test]
fn tools_may_have_their_licence_and_no_other() {
    let judge = |licence, name| licence_problem(&package(licence, "null", "Cargo.toml", name));
    assert_eq!(judge(r#""MPL-2.0""#, "cbindgen"), None);
    assert!(judge(r#""GPL-3.0-only""#, "cbindgen").is_some());
    assert!(judge(r#""MPL-2.0""#, "p").is_some());
}

#[test]
fn bans_give_their_reason() {
    let judge = |name| ban(&package("null", "null", "Cargo.toml", name));
    assert_eq!(judge("serde"), None);
    assert!(judge("openssl-sys").unwrap().contains("OpenSSL"));
}

/// `product` needs `old` of version 1, and `a`, which needs `old` of version 2.
/// `old` is needed for `kind`, and `a` is a library of kind `library`.
fn graph(kind: &str, library: &str) -> Metadata {
    let package = |name: &str, version: &str| {
        let library = if name == "a" { library } else { "lib" };
        format!(
            r#"{{"id": "{name}-{version}", "name": "{name}", "version": "{version}",
                "license": "MIT", "source": null, "manifest_path": "",
                "targets": [{{"name": "{name}", "kind": ["{library}"]}}], "features": {{}}}}"#
        )
    };
    let packages = [package("product", "1"), package("a", "1"), package("old", "1")];
    let text = format!(
        r#"{{"packages": [{}, {}], "workspace_members": ["product-1"],
            "target_directory": "target", "resolve": {{"nodes": [
                {{"id": "product-1", "deps": [
                    {{"pkg": "a-1", "dep_kinds": [{{"kind": null}}]}},
                    {{"pkg": "old-1", "dep_kinds": [{{"kind": {kind}}}]}}]}},
                {{"id": "a-1", "deps": [{{"pkg": "old-2", "dep_kinds": [{{"kind": null}}]}}]}},
                {{"id": "old-1", "deps": []}}, {{"id": "old-2", "deps": []}}]}}}}"#,
        packages.join(", "),
        package("old", "2"),
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn two_versions_count_only_in_the_product() {
    let versions = |kind, library| {
        let graph = graph(kind, library);
        let versions = normal_versions(&graph, &["product"]).unwrap();
        versions["old"].iter().map(|version| (*version).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(versions("null", "lib"), ["1", "2"]);
    assert_eq!(versions("\"dev\"", "lib"), ["2"]);
    assert_eq!(versions("\"build\"", "lib"), ["2"]);
    assert_eq!(versions("null", "proc-macro"), ["1"]);
}

#[test]
fn a_dependency_without_a_row_is_named() {
    let missing = |reasons| without_reason(&graph("null", "lib"), reasons).into_iter().collect();
    let found: Vec<String> = missing("| `a` | product | why |\n\n`old` is only mentioned here\n");
    assert_eq!(found, ["old: has no row in docs/dependencies.md that says why"]);
    let found: Vec<String> = missing("| `a`, `old` | product | why |\n");
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_missing_product_is_a_failure() {
    assert!(normal_versions(&graph("null", "lib"), &["other"]).is_err());
}

#[test]
fn every_allowed_licence_is_an_expression() {
    for licence in policy::LICENCES {
        assert!(spdx::parse(licence).unwrap().holds(&|name| name == *licence), "{licence}");
    }
}
