//! Runs every example of the package `tenure`. An example that fails, or that does not come to an
//! end, fails the chore and its output is shown; the output of the others is not.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cargo::{self, Metadata, Target};
use crate::{Failure, Outcome};

const PACKAGE: &str = "tenure";
const LONGEST: Duration = Duration::from_secs(120);

/// Builds and runs the examples, one after the other.
pub(crate) fn run() -> Outcome {
    let root = cargo::root()?;
    let metadata = Metadata::workspace(&root.join("Cargo.toml"))?;
    let package = metadata
        .members()
        .find(|package| package.name == PACKAGE)
        .ok_or_else(|| Failure::new(format!("the workspace has no package `{PACKAGE}`")))?;
    let examples: Vec<_> = package.targets.iter().filter(|target| target.is("example")).collect();
    if examples.is_empty() {
        return Err(Failure::new(format!("the package `{PACKAGE}` declares no example")));
    }

    let outputs = metadata.target_directory.join("example-output");
    fs::create_dir_all(&outputs)
        .map_err(|error| Failure::new(format!("{}: {error}", outputs.display())))?;
    for example in examples {
        cargo::run(command("build", example).current_dir(&root))?;
        let start = Instant::now();
        let log = outputs.join(format!("{}.txt", example.name));
        supervise(command("run", example).current_dir(&root), &log, LONGEST)?;
        println!("{}: {:.1} s", example.name, start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn command(verb: &str, example: &Target) -> Command {
    let mut command = cargo::cargo();
    command.args([verb, "--quiet", "--package", PACKAGE, "--example", &example.name]);
    if !example.required_features.is_empty() {
        command.arg("--features").arg(example.required_features.join(","));
    }
    command
}

/// Runs `command` for no longer than `longest`, its output going to the file `log`.
fn supervise(command: &mut Command, log: &Path, longest: Duration) -> Outcome {
    let shown = cargo::show(command);
    let failed = |error| Failure::new(format!("{shown}: {error}"));
    let file = File::create(log).map_err(failed)?;
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(failed)?).stderr(file);

    let start = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let verdict = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => break status.to_string(),
            None if start.elapsed() > longest => {
                child.kill().and_then(|()| child.wait()).map_err(failed)?;
                break format!("still running after {} s, killed", longest.as_secs_f64());
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    let output = fs::read(log).map_err(failed)?;
    let output = String::from_utf8_lossy(&output);
    Err(Failure::new(format!("{shown}: {verdict}\n{}", output.trim_end())))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str, longest: Duration) -> Outcome {
        let log = std::env::temp_dir().join(format!("xtask-{}-{name}.txt", std::process::id()));
        let outcome = supervise(Command::new("sh").args(["-c", script]), &log, longest);
        fs::remove_file(log).unwrap();
        outcome
    }

    #[test]
    fn success_is_quiet() {
        shell("success", "echo words", LONGEST).unwrap();
    }

    #[test]
    fn failure_shows_the_output() {
        let failure = shell("failure", "echo words; exit 3", LONGEST).unwrap_err().to_string();
        assert!(failure.contains("exit status: 3\nwords"), "{failure}");
    }

    #[test]
    fn a_hang_is_a_failure() {
        let failure = shell("hang", "exec sleep 600", Duration::from_millis(50)).unwrap_err();
        assert!(failure.to_string().contains("still running"), "{failure}");
    }
}
