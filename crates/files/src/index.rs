//! Folders of safetensors files: an index says which file has which tensor.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use crate::catalogue::Catalogue;
use crate::shard::Shard;
use crate::source;
use crate::{Entry, Error, Format, Result, TensorFile, regular};

/// What the names of indices end in.
pub(crate) const ENDING: &str = ".safetensors.index.json";
/// What the names of files end in.
const FILE_ENDING: &str = ".safetensors";
/// A longer index than this there is not.
const LONGEST: u64 = 100_000_000;
/// More files than this no model has.
const MOST_FILES: usize = 4096;
/// In a folder with more files than this no index is looked for.
const MOST_NAMES: usize = 1 << 16;

/// What an index says; all else in it is passed over.
#[derive(Debug, Deserialize)]
struct Index {
    weight_map: WeightMap,
}

/// Names of tensors, and of the files that they are in.
#[derive(Debug)]
struct WeightMap(Vec<(String, String)>);

/// Opens the folder's index, or its only safetensors file.
pub(crate) fn open_folder(folder: &Path) -> Result<TensorFile> {
    let names = names(folder, MOST_NAMES).map_err(|error| error.at(folder))?;
    let ending = |ending| names.iter().filter(|name| name.ends_with(ending)).collect::<Vec<_>>();
    let (indices, files) = (ending(ENDING), ending(FILE_ENDING));
    match (&indices[..], &files[..]) {
        ([index], _) => open_index(&folder.join(index)),
        ([], [file]) => crate::open(folder.join(file)),
        _ => {
            let (indices, files) = (indices.len(), files.len());
            let found = format!("{indices} indices and {files} safetensors files");
            Err(Error::NoIndex { found }.at(folder))
        }
    }
}

fn names(folder: &Path, most: usize) -> Result<Vec<String>> {
    let mut names = vec![];
    for (count, entry) in fs::read_dir(folder).map_err(Error::Open)?.enumerate() {
        if count == most {
            return Err(Error::NoIndex { found: format!("more than {most} files") });
        }
        // A name that is no text is none of ours.
        if let Ok(name) = entry.map_err(Error::Open)?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

/// Opens all files that an index names.
pub(crate) fn open_index(path: &Path) -> Result<TensorFile> {
    let WeightMap(map) = read(path).map_err(|error| error.at(path))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut by_file: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (tensor, file) in &map {
        by_file.entry(file).or_default().push(tensor);
    }
    if by_file.len() > MOST_FILES {
        let what = format!("names {} files: at most {MOST_FILES} are opened", by_file.len());
        return Err(damaged(what).at(path));
    }
    let (mut shards, mut entries, mut metadata) = (vec![], vec![], vec![]);
    for (file, tensors) in by_file {
        let file = folder.join(plain(file).map_err(|error| error.at(path))?);
        let shard = Shard::open(&file)?;
        let found = Catalogue::of(&shard.source, Format::Safetensors);
        let found = found.map_err(|error| error.at(&file))?;
        let mut there: HashMap<String, Entry> =
            found.entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        let first = entries.len();
        for tensor in tensors {
            let entry = there.remove(tensor).ok_or_else(|| {
                let what = format!("names `{tensor}`, which {} does not have", file.display());
                damaged(what).at(path)
            })?;
            entries.push(Entry { shard: shards.len(), ..entry });
        }
        entries.get_mut(first..).unwrap_or_default().sort_by_key(|entry| entry.offset);
        if metadata.is_empty() {
            metadata = found.metadata;
        }
        shards.push(shard);
    }
    let format = Format::Safetensors;
    let catalogue = Catalogue { format, entries, metadata, refused: vec![] };
    Ok(TensorFile::assemble(path, shards, catalogue))
}

fn read(path: &Path) -> Result<WeightMap> {
    let source = regular::open(path)?;
    if source.size > LONGEST {
        return Err(damaged(format!("has {} bytes: at most {LONGEST} are read", source.size)));
    }
    let words = source::bytes(&source, 0, source.size)?.unwrap_or_default();
    let index: Index = serde_json::from_slice(&words)
        .map_err(|wrong| damaged(format!("makes no sense: {wrong}")))?;
    Ok(index.weight_map)
}

/// The name of a file beside the index, and of nothing elsewhere.
fn plain(file: &str) -> Result<PathBuf> {
    let path = PathBuf::from(file);
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(path),
        _ => Err(damaged(format!("names the file `{file}`, which is not beside it"))),
    }
}

fn damaged(what: String) -> Error {
    Error::from(crate::detail::Damaged { format: "index", what })
}

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<WeightMap, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = WeightMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the file of each tensor")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightMap, A::Error> {
                let mut all: Vec<(String, String)> = vec![];
                while let Some(pair) = map.next_entry()? {
                    all.push(pair);
                }
                all.sort_unstable();
                let twice =
                    |pair: &&[(String, String)]| matches!(pair, [one, other] if one.0 == other.0);
                match all.windows(2).find(twice) {
                    Some([(name, _), _]) => {
                        Err(A::Error::custom(format!("it has two tensors `{name}`")))
                    }
                    _ => Ok(WeightMap(all)),
                }
            }
        }
        from.deserialize_map(Names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_too_many_files_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(names(folder.path(), 3).unwrap().len(), 3);
        let error = names(folder.path(), 2).unwrap_err();
        assert!(error.to_string().contains("more than 2 files"), "{error}");
    }
}
