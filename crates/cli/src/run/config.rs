//! The file of `--config`: a table for each camera, with the words of the command line.
//!
//! Each table is read as a command line of its own, so that both know the same words and say the
//! same about wrong ones.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{CommandFactory, Parser};
use toml::Value;

use super::{Camera, Problem};
use crate::input;

/// The largest configuration.
const MOST: u64 = 1 << 20;

/// A camera alone.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Alone {
    #[command(flatten)]
    camera: Camera,
}

/// The cameras of a file, by name.
pub(super) fn read(path: &Path) -> Result<Vec<Camera>, Problem> {
    let text =
        input::text(path, MOST).map_err(|cause| Problem::Read { path: path.to_owned(), cause })?;
    parse(&text).map_err(|reason| Problem::Config { path: path.to_owned(), reason })
}

fn parse(text: &str) -> Result<Vec<Camera>, String> {
    let tables: BTreeMap<String, Value> =
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let mut cameras = vec![];
    for (name, table) in tables {
        let Value::Table(table) = table else {
            return Err(format!(
                "`{name}` stands outside of a table: a camera is a table, like [{name}], with \
                 source, to, fps and so on below it"
            ));
        };
        let arguments = arguments(&name, table)?;
        let alone = Alone::try_parse_from(arguments).map_err(|error| {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            format!("[{name}]: {}", text.split("\n\n").next().unwrap_or(text).trim())
        })?;
        cameras.push(alone.camera);
    }
    if cameras.is_empty() {
        return Err("there is no camera in it: one is a table, like [front]".to_owned());
    }
    Ok(cameras)
}

/// A table as a command line.
fn arguments(name: &str, table: toml::Table) -> Result<Vec<String>, String> {
    let command = Alone::command();
    let options = || command.get_arguments().filter_map(|one| one.get_long());
    let mut arguments = vec![];
    let mut source = None;
    if !table.contains_key("name") {
        arguments.push(format!("--name={name}"));
    }
    for (key, value) in table {
        let word = match &value {
            Value::String(word) => word.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Boolean(_) => String::new(),
            _ => {
                return Err(format!(
                    "[{name}]: `{key}` is {}; a text, a number, true or false can be",
                    value.type_str()
                ));
            }
        };
        if key == "source" {
            source = Some(word);
            continue;
        }
        let Some(option) = options().find(|option| *option == key) else {
            let known: Vec<&str> = options().collect();
            return Err(format!(
                "[{name}]: there is no `{key}`: there are source, {}",
                known.join(", ")
            ));
        };
        match value {
            Value::Boolean(false) => {}
            Value::Boolean(true) => arguments.push(format!("--{option}")),
            _ => arguments.push(format!("--{option}={word}")),
        }
    }
    // Last, and not to be taken for an option.
    if let Some(source) = source {
        arguments.extend(["--".to_owned(), source]);
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn tables_are_cameras() {
        let cameras = parse(
            "[front]\nsource = \"/dev/video0\"\nto = \"320x320\"\nfps = 15\n\
             [back]\nsource = \"-odd\"\nname = \"rear\"\nno-input = true\nonce = false\n[any]",
        )
        .unwrap();
        let names: Vec<_> = cameras.iter().map(|one| (&*one.name, &*one.source)).collect();
        assert_eq!(names, [("any", "test"), ("rear", "-odd"), ("front", "/dev/video0")]);
        assert_eq!(
            (cameras[2].fps, cameras[1].no_input, cameras[1].once),
            (Some(15.0), true, false)
        );
    }

    #[test]
    fn a_file_has_all_the_words_of_a_camera() {
        let command = Alone::command();
        let ids: BTreeSet<&str> =
            command.get_arguments().map(|one| one.get_id().as_str()).collect();
        assert_eq!(ids, BTreeSet::from(crate::run::OF_ONE));
    }

    #[test]
    fn mistakes_are_told() {
        let cases = [
            ("", "no camera"),
            ("source = 1", "[source]"),
            ("[a]\nsauce = 1", "there is no `sauce`: there are source, name, from"),
            ("[a]\nto = \"big\"", "[a]: invalid value 'big' for '--to <WxH>': say WIDTHxHEIGHT"),
            ("[a]\nto = [1]", "`to` is array"),
            ("[a\n", "line 1"),
        ];
        for (text, words) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
