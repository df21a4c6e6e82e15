//! Links from one document of the repository to another: the file or folder exists, and so does the
//! heading behind `#`. Nothing outside of the repository is looked at, and no network is used.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::{Failure, Outcome, cargo};

mod markdown;

/// Fails, and names every link that leads nowhere.
pub(crate) fn check() -> Outcome {
    let root = cargo::root()?;
    let documents = documents(&root)?;
    let mut problems = vec![];
    let mut links = 0;
    for (path, text) in &documents {
        for link in markdown::links(text) {
            links += 1;
            if let Err(reason) = follow(&root, &documents, path, &link.target) {
                let place = format!("{}:{}", path.display(), link.line);
                problems.push(format!("{place}: `{}`: {reason}", link.target));
            }
        }
    }
    problems.sort();
    Failure::unless_empty("links that lead nowhere", &problems)?;
    println!("{} documents, {links} links: all lead somewhere", documents.len());
    Ok(())
}

/// Every Markdown file by its path from the root, without what is built or hidden.
fn documents(root: &Path) -> Outcome<HashMap<PathBuf, String>> {
    let failed =
        |path: &Path, error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut documents = HashMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| failed(&folder, error))? {
            let entry = entry.map_err(|error| failed(&folder, error))?;
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().map_err(|error| failed(&path, error))?;
            if kind.is_dir() {
                if name != "target" && !name.to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
            } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "md") {
                let text = fs::read_to_string(&path).map_err(|error| failed(&path, error))?;
                let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
                documents.insert(name, text);
            }
        }
    }
    Ok(documents)
}

/// Finds what `target` in the document `from` leads to, or says what is missing.
fn follow(
    root: &Path,
    documents: &HashMap<PathBuf, String>,
    from: &Path,
    target: &str,
) -> Result<(), String> {
    let (file, heading) = match target.split_once('#') {
        Some((file, heading)) => (file, Some(heading)),
        None => (target, None),
    };
    // The name of a protocol: not ours to follow.
    if file.split('/').next().is_some_and(|first| first.contains(':')) {
        return Ok(());
    }
    let path = match file {
        "" => from.to_owned(),
        file => inside(from.parent().unwrap_or(Path::new("")), file)
            .ok_or("it leaves the repository")?,
    };
    if !root.join(&path).exists() {
        return Err(format!("there is no {}", path.display()));
    }
    match (heading, documents.get(&path)) {
        (Some(heading), Some(text)) if !markdown::anchors(text).any(|own| own == heading) => {
            Err(format!("{} has no heading `{heading}`", path.display()))
        }
        _ => Ok(()),
    }
}

/// `file` as seen from `folder`, from the root of the repository; none if it lies outside.
fn inside(folder: &Path, file: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in folder.join(file).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_of_this_repository_leads_somewhere() {
        check().unwrap();
    }

    #[test]
    fn paths_stay_inside_of_the_repository() {
        assert_eq!(inside(Path::new("docs"), "../README.md"), Some("README.md".into()));
        assert_eq!(inside(Path::new("docs/a"), "./b/../c.md"), Some("docs/a/c.md".into()));
        assert_eq!(inside(Path::new("docs"), "../../etc/passwd"), None);
        assert_eq!(inside(Path::new("docs"), "/etc/passwd"), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let root = cargo::root().unwrap();
        let documents = HashMap::from([("README.md".into(), "# One\n\n## Two words\n".into())]);
        let follow = |target| follow(&root, &documents, Path::new("README.md"), target);
        assert_eq!(follow("#two-words"), Ok(()));
        assert_eq!(follow("README.md#one"), Ok(()));
        assert_eq!(follow("crates"), Ok(()));
        assert_eq!(follow("https://example.org/nowhere#at-all"), Ok(()));
        assert_eq!(follow("#three"), Err("README.md has no heading `three`".to_owned()));
        assert_eq!(follow("no/such.md"), Err("there is no no/such.md".to_owned()));
        assert_eq!(follow("../outside.md"), Err("it leaves the repository".to_owned()));
    }
}
