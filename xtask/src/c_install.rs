//! Puts the C library where C compilers look: `PREFIX/lib` with the shared library under its three
//! names and the static one, `PREFIX/include/tenure.h`, `PREFIX/lib/pkgconfig/tenure.pc`.

use std::fs;
use std::io;
use std::path::Path;

use crate::cargo::{self, Metadata};
use crate::{Failure, Outcome};

const PACKAGE: &str = "tenure-capi";

/// How the library is built.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// As users want it.
    Release,
    /// As tests want it.
    Dev,
}

/// Builds the library, for this machine or another `target`, and installs it below `prefix`. What is
/// there from before is replaced.
pub(crate) fn install(prefix: &str, profile: Profile, target: Option<&str>) -> Outcome {
    let root = cargo::root()?;
    let mut build = cargo::cargo();
    build.current_dir(&root).args(["build", "--quiet", "--package", PACKAGE, "--lib"]);
    let folder = match profile {
        Profile::Release => {
            build.arg("--release");
            "release"
        }
        Profile::Dev => "debug",
    };
    if let Some(target) = target {
        build.args(["--target", target]);
    }
    cargo::run(&mut build)?;

    let metadata = Metadata::workspace(&root.join("Cargo.toml"))?;
    let package = metadata.members().find(|package| package.name == PACKAGE);
    let version = &package.ok_or_else(|| Failure::new(format!("no package {PACKAGE}")))?.version;
    let built = metadata.target_directory.join(target.unwrap_or_default()).join(folder);
    let failed = |error: io::Error| Failure::new(format!("{prefix}: {error}"));
    lay_out(&root.join("crates/capi"), &built, Path::new(prefix), version).map_err(failed)?;
    println!("libtenure {version} is in {prefix}");
    Ok(())
}

fn lay_out(source: &Path, built: &Path, prefix: &Path, version: &str) -> io::Result<()> {
    let (lib, include) = (prefix.join("lib"), prefix.join("include"));
    let pkgconfig = lib.join("pkgconfig");
    for folder in [&include, &pkgconfig] {
        fs::create_dir_all(folder)?;
    }
    fs::copy(source.join("include/tenure.h"), include.join("tenure.h"))?;
    fs::copy(built.join("libtenure.a"), lib.join("libtenure.a"))?;

    let names = shared_names(version);
    let [real, links @ ..] = &names;
    // Not over the old one, which a running program may have mapped.
    remove(&lib.join(real))?;
    fs::copy(built.join("libtenure.so"), lib.join(real))?;
    for link in links {
        remove(&lib.join(link))?;
        link_to(real, &lib.join(link))?;
    }
    let description = fs::read_to_string(source.join("tenure.pc.in"))?;
    fs::write(pkgconfig.join("tenure.pc"), description.replace("@VERSION@", version))
}

/// The file of the shared library, the name that programs look for, and the one for the linker.
fn shared_names(version: &str) -> [String; 3] {
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    [format!("libtenure.so.{version}"), format!("libtenure.so.{minor}"), "libtenure.so".to_owned()]
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn link_to(name: &str, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(name, link)
}

#[cfg(not(unix))]
fn link_to(name: &str, link: &Path) -> io::Result<()> {
    fs::copy(link.with_file_name(name), link).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::shared_names;

    #[test]
    fn the_name_that_programs_look_for_has_the_minor_version() {
        let names = ["libtenure.so.0.1.7", "libtenure.so.0.1", "libtenure.so"];
        assert_eq!(shared_names("0.1.7"), names);
    }
}
