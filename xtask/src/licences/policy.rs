//! What dependencies may be: plain tables.

/// The packages that users build; the rule of one version is for what these depend on.
pub(super) const PRODUCTS: &[&str] = &["tenure", "tenure-cli", "tenure-capi"];

/// Where packages may be downloaded from, in the words of `cargo metadata`.
pub(super) const SOURCES: &[&str] =
    &["registry+https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io/"];

/// Licences under which code can be given on as part of MIT OR Apache-2.0.
pub(super) const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "NCSA",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that have a licence file where others state an expression, and what the file says.
pub(super) const LICENCE_FILES: &[(&str, &str)] = &[("dma-heap", "MIT")];

/// Crates under licences that are not in the list, which only the chores use: what users build has
/// nothing of them.
pub(super) const TOOLS: &[(&str, &str)] = &[("cbindgen", "MPL-2.0")];

/// Crates that must not come in, not even for tests, and why.
pub(super) const BANNED: &[(&str, &str)] = &[
    ("atty", "not maintained; use std::io::IsTerminal"),
    ("bindgen", "needs libclang on every machine; check the bindings in"),
    ("cmake", "needs CMake on every machine"),
    ("native-tls", "links another library on every platform"),
    ("openssl", "links the system's OpenSSL"),
    ("openssl-sys", "links the system's OpenSSL"),
    ("pkg-config", "makes the build depend on what else is installed"),
];

/// Only builds with the feature `bridge` have what Zenoh brings, and it brings some of it twice.
const ZENOH: &str = "Zenoh, in builds with the feature bridge alone";

/// Crates that the product may have in more than one version, and why.
pub(super) const DUPLICATES: &[(&str, &str)] = &[
    ("bitflags", ZENOH),
    ("foldhash", ZENOH),
    ("getrandom", ZENOH),
    ("hashbrown", ZENOH),
    ("indexmap", ZENOH),
    ("lz4_flex", ZENOH),
    ("schemars", ZENOH),
    ("socket2", ZENOH),
    ("spin", ZENOH),
    ("thiserror", ZENOH),
    ("windows-sys", ZENOH),
];
