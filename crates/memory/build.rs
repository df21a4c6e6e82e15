//! Names for platform conditions, so that no source file spells out a list of systems.

use std::env;

fn main() {
    println!(
        "cargo::rustc-check-cfg=cfg(linux_like, maps_pages, posix_shm, surfaces, hardware_buffers, sections)"
    );
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    // Miri interprets a program without the kernel's help: a system of its own.
    let interpreted = env::var_os("CARGO_CFG_MIRI").is_some();
    // memfd, file seals, descriptor passing with close-on-exec.
    if !interpreted && (system == "linux" || system == "android") {
        println!("cargo::rustc-cfg=linux_like");
    }
    // shm_open, which Android leaves out.
    if !interpreted && system == "linux" {
        println!("cargo::rustc-cfg=posix_shm");
    }
    // IOSurface.
    if !interpreted && system == "macos" {
        println!("cargo::rustc-cfg=surfaces");
    }
    // AHardwareBuffer.
    if !interpreted && system == "android" {
        println!("cargo::rustc-cfg=hardware_buffers");
    }
    // Named sections of the paging file.
    if !interpreted && system == "windows" {
        println!("cargo::rustc-cfg=sections");
    }
    // mmap.
    if !interpreted && env::var_os("CARGO_CFG_UNIX").is_some() {
        println!("cargo::rustc-cfg=maps_pages");
    }
}
