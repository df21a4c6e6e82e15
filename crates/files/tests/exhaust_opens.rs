//! Without a descriptor for the next file, whichever that is: an error, nothing left open or
//! half-written, and everything works when there are some.
#![cfg(all(target_os = "linux", not(miri)))]

use std::fs;
use std::path::Path;

use tenure_files::whole::{self, Existing};
use tenure_files::{Direct, npy, open, safetensors};
use tenure_tensor::{Tensor, TensorDyn, TensorMemory};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/limits.rs"]
mod limits;
#[path = "../../memory/tests/common/opens.rs"]
mod opens;

use opens::until_it_works;

const COUNT: usize = 10_000;

fn numbers() -> TensorDyn {
    Tensor::<f32>::from_slice(&[3.0; COUNT], &[COUNT]).unwrap().to_dyn()
}

fn words<T>(result: Result<T, impl ToString>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_saved_whole_or_not_at_all() {
    child::alone("files_are_saved_whole_or_not_at_all", || {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let numbers = numbers();
        type Attempt<'a> = (&'static str, &'a dyn Fn() -> Result<u64, String>);
        let fill = |out: &mut dyn std::io::Write| out.write_all(b"all of it");
        let attempts: [Attempt<'_>; 4] = [
            ("a.safetensors", &|| {
                let tensors = [("a", numbers.clone())];
                words(safetensors::save(path("a.safetensors"), &tensors, &Default::default()))
            }),
            ("b.npy", &|| words(npy::save(path("b.npy"), &numbers))),
            ("c.bin", &|| words(whole::write(&path("c.bin"), Existing::Keep, |out| fill(out)))),
            ("d.bin", &|| {
                words(whole::write_durably(&path("d.bin"), Existing::Replace, |out| fill(out)))
            }),
        ];
        let mut there = vec![];
        for (name, attempt) in attempts {
            let (needed, bytes) = until_it_works(name, || {
                let answer = attempt();
                if answer.is_err() {
                    // Listing takes a descriptor too: looked at when there are some again.
                    assert!(!path(name).exists(), "{name}");
                }
                answer
            });
            assert!(needed > 0 && bytes == fs::metadata(path(name)).unwrap().len(), "{name}");
            there.push(name);
            assert_eq!(names(folder.path()), there);
        }
        assert_eq!(open(path("a.safetensors")).unwrap().tensor("a").unwrap().len(), COUNT);
    });
}

#[test]
fn every_open_may_be_the_first_to_fail() {
    child::alone("every_open_may_be_the_first_to_fail", || {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let shards = ["one.safetensors", "two.safetensors"];
        for (name, shard) in ["a", "b"].iter().zip(shards) {
            safetensors::save(path(shard), &[(name, numbers())], &Default::default()).unwrap();
        }
        let index = r#"{"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}"#;
        fs::write(path("model.safetensors.index.json"), index).unwrap();
        npy::save(path("c.npy"), &numbers()).unwrap();

        let (needed, array) = until_it_works("an array", || words(open(path("c.npy"))));
        assert!(needed > 0);
        let (needed, model) = until_it_works("a folder", || words(open(folder.path())));
        assert!(needed > 1, "{needed}");
        for memory in [TensorMemory::Mem, TensorMemory::Shm] {
            for direct in [Direct::Never, Direct::Always] {
                for file in [&array, &model] {
                    let (_, loaded) = until_it_works("loading", || {
                        words(file.load().memory(memory).direct(direct).threads(2).run())
                    });
                    for (_, tensor) in loaded.tensors() {
                        let tensor = tensor.clone().typed::<f32>().unwrap();
                        assert_eq!(*tensor.map_read().unwrap().as_slice(), [3.0; COUNT]);
                    }
                }
            }
        }
        // Views need nothing more.
        let full = limits::Full::but(0);
        let view = model.tensor("b").unwrap().typed::<f32>().unwrap();
        assert_eq!(view.map_read().unwrap().as_slice()[COUNT - 1], 3.0);
        drop(full);
    });
}
