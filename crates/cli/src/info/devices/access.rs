//! Whether this process may use a device node; if not, who may, and what would help.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Access, access};
use rustix::process::{getegid, getgroups};

use crate::machine::Tree;

/// How to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Open it for reading.
    OpenToRead,
    /// Open it for reading and writing.
    OpenToWrite,
    /// Ask whether it could be opened for reading and writing.
    MayUse,
}

/// Who owns a node and what they may do.
#[derive(Debug, Clone, Copy)]
struct Owner<'a> {
    mode: u32,
    group: &'a str,
    /// Whether this process is in the group.
    member: bool,
}

/// # Errors
/// Why this process may not use the node.
pub(super) fn ask(tree: &Tree, path: &str, question: Question) -> Result<(), String> {
    let place = tree.at(path);
    let answer = match question {
        Question::OpenToRead => OpenOptions::new().read(true).open(&place).map(drop),
        Question::OpenToWrite => OpenOptions::new().read(true).write(true).open(&place).map(drop),
        Question::MayUse => {
            access(&place, Access::READ_OK | Access::WRITE_OK).map_err(io::Error::from)
        }
    };
    let Err(error) = answer else { return Ok(()) };
    if error.kind() != ErrorKind::PermissionDenied {
        return Err(error.to_string());
    }
    let Ok(node) = fs::metadata(&place) else { return Err(error.to_string()) };
    let group = group_name(tree, node.gid());
    let owner = Owner { mode: node.mode(), group: &group, member: is_member(node.gid()) };
    Err(advice(owner, question))
}

/// What stands in the way of a process that was denied, and what would help.
fn advice(owner: Owner<'_>, question: Question) -> String {
    let Owner { mode, group, member } = owner;
    let needed = if question == Question::OpenToRead { 0o040 } else { 0o060 };
    if mode & needed != needed {
        let mode = mode & 0o777;
        format!("permission denied: its mode {mode:03o} lets nobody in but its owner")
    } else if member {
        format!(
            "permission denied, although this process is in its group {group}: a container or a \
             security module forbids it"
        )
    } else {
        format!(
            "permission denied: it belongs to group {group}; add the user to it (sudo usermod \
             -aG {group} $USER) and log in again"
        )
    }
}

fn is_member(gid: u32) -> bool {
    let others = getgroups().unwrap_or_default();
    others.iter().chain([&getegid()]).any(|group| group.as_raw() == gid)
}

/// The name of a group, or its number if it has none here.
fn group_name(tree: &Tree, gid: u32) -> String {
    let named = tree.text("/etc/group").and_then(|text| {
        text.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse() == Ok(gid)).then(|| name.to_owned())
        })
    });
    named.unwrap_or_else(|| gid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_what_stands_in_the_way() {
        let owner = Owner { mode: 0o20660, group: "video", member: false };
        assert!(advice(owner, Question::MayUse).contains("usermod -aG video $USER"));
        let words = advice(Owner { member: true, ..owner }, Question::MayUse);
        assert!(words.contains("security module"), "{words}");
        let words = advice(Owner { mode: 0o20640, ..owner }, Question::MayUse);
        assert!(words.contains("mode 640"), "{words}");
        let words = advice(Owner { mode: 0o20640, ..owner }, Question::OpenToRead);
        assert!(words.contains("group video"), "{words}");
    }

    #[test]
    fn groups_have_names_or_numbers() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("etc")).unwrap();
        fs::write(folder.path().join("etc/group"), "root:x:0:\nvideo:x:44:me\n").unwrap();
        let tree = Tree::below(folder.path());
        assert_eq!(group_name(&tree, 44), "video");
        assert_eq!(group_name(&tree, 105), "105");
    }

    #[test]
    fn what_is_not_there_is_told_as_the_system_says() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::below(folder.path());
        let words = ask(&tree, "/dev/nothing", Question::MayUse).unwrap_err();
        assert!(words.contains("No such file"), "{words}");
    }
}
