//! Names for platform conditions, so that no source file spells out a list of systems.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(linux_like)");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    // Memory files, descriptors that are memory, device nodes and /proc as Linux has them.
    if system == "linux" || system == "android" {
        println!("cargo::rustc-cfg=linux_like");
    }
}
