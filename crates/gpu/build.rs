//! Names for platform conditions, so that no source file spells out a list of systems.

use std::env;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(linux_like)");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    // Miri interprets a program without the kernel's help: a system of its own.
    let interpreted = env::var_os("CARGO_CFG_MIRI").is_some();
    if !interpreted && (system == "linux" || system == "android") {
        println!("cargo::rustc-cfg=linux_like");
    }
}
