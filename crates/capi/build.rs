//! Names for platform conditions, and the name by which programs find the library at run time.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The tests compile programs for what they are built for themselves.
    for (name, value) in [("TENURE_TEST_TARGET", "TARGET"), ("TENURE_TEST_HOST", "HOST")] {
        println!("cargo::rustc-env={name}={}", env::var(value).unwrap_or_default());
    }
    println!("cargo::rustc-check-cfg=cfg(linux_like)");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    // Descriptors, sharing between processes.
    if system == "linux" || system == "android" {
        println!("cargo::rustc-cfg=linux_like");
        // Before 1.0 a minor version may break, so it is part of the name.
        let part = |name: &str| env::var(name).unwrap_or_default();
        let (major, minor) = (part("CARGO_PKG_VERSION_MAJOR"), part("CARGO_PKG_VERSION_MINOR"));
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtenure.so.{major}.{minor}");
    }
}
