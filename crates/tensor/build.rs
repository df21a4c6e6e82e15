//! Names for platform conditions, so that no source file spells out a list of systems.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(linux_like)");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    // memfd, file seals, descriptor passing with close-on-exec.
    if system == "linux" || system == "android" {
        println!("cargo::rustc-cfg=linux_like");
    }
}
