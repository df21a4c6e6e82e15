//! Files on a real disk: opened, loaded, saved; and everything that is no file.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tenure_files::{Direct, Error, ErrorKind, Format, npy, open, open_as, open_raw, safetensors};
use tenure_memory::{kind, open_file};
use tenure_tensor::{DType, DynTensor, Pool, PoolLimits, Tensor, TensorDyn, TensorMemory};

fn numbers(count: usize) -> Tensor<f32> {
    let values: Vec<f32> = (0..count).map(|n| n as f32).collect();
    Tensor::from_slice(&values, &[count]).unwrap()
}

fn bytes(tensor: &TensorDyn) -> Vec<u8> {
    tensor.map_read().unwrap().as_slice().to_vec()
}

/// A model of three tensors, with what is in them.
fn model(path: &Path) -> Vec<(&'static str, TensorDyn)> {
    // Bytes can be used where they lie on machines of either order.
    let large = bytes(&numbers(6 << 20).to_dyn());
    let large = Tensor::<u8>::from_slice(&large, &[large.len()]).unwrap();
    let tensors = vec![
        ("odd", Tensor::<u8>::from_slice(&[7; 13], &[13]).unwrap().to_dyn()),
        ("large", large.to_dyn()),
        ("small", numbers(5).to_dyn()),
        ("none", Tensor::<f32>::new(&[0, 3], Some(TensorMemory::Mem), None).unwrap().to_dyn()),
    ];
    safetensors::save(path, &tensors, &safetensors::Save::default()).unwrap();
    tensors
}

#[test]
fn what_is_saved_is_opened_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let tensors = model(&path);
    let file = open(&path).unwrap();
    assert_eq!(file.format(), Format::Safetensors);
    let first = file.entries().iter().find(|entry| entry.bytes() > 0).unwrap();
    assert_eq!((first.name(), first.offset()), ("large", 4096));
    // The crate of the format reads it too.
    let all = fs::read(&path).unwrap();
    assert_eq!(::safetensors::SafeTensors::deserialize(&all).unwrap().len(), 4);
    let pool = Pool::new(kind::allocator(TensorMemory::Mem).unwrap())
        .with_limits(PoolLimits::new(1 << 30, 8));
    for direct in [Direct::WhenCold, Direct::Never, Direct::Always] {
        for threads in [1, 3] {
            let load = file.load().allocator(&pool).direct(direct).threads(threads);
            let loaded = load.run().unwrap();
            assert_eq!(loaded.bytes(), (6 << 22) + 13 + 20);
            if direct == Direct::Never {
                assert_eq!(loaded.direct_bytes(), 0);
            }
            for (name, tensor) in &tensors {
                if cfg!(target_endian = "little") || *name != "small" {
                    let view = file.view(name).unwrap();
                    assert_eq!((view.memory(), view.shape()), (TensorMemory::File, tensor.shape()));
                    assert!(view.map().is_err(), "read-only");
                    assert!(bytes(&view) == bytes(tensor), "{name}");
                }
                let copy = loaded.tensor(name).unwrap();
                assert!(bytes(&copy) == bytes(tensor), "{name} {direct:?} {threads}");
                if !copy.is_empty() {
                    copy.map().unwrap().as_mut_slice().fill(0xff);
                }
            }
        }
    }
    assert_eq!((pool.report().misses, pool.report().hits), (1, 5));
    for memory in [TensorMemory::Mem, TensorMemory::Shm] {
        let loaded = file.load().only(["small", "odd"]).unwrap().memory(memory).align(64).run();
        let small = loaded.unwrap().tensor("small").unwrap();
        assert_eq!((small.memory(), bytes(&small)), (memory, bytes(&tensors[2].1)));
    }
}

#[test]
fn selections_progress_and_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model(&path);
    let file = open(&path).unwrap();
    let error = file.load().only(["larger"]).unwrap_err().to_string();
    assert!(error.contains("no tensor `larger` among 4; there is `large`"), "{error}");
    let mut seen = vec![];
    let load = file.load().progress(|now| {
        seen.push(now);
        ControlFlow::Continue(())
    });
    load.run().unwrap();
    assert!(seen.len() > 2 && seen.is_sorted_by_key(|now| now.done), "{seen:?}");
    let last = seen.last().unwrap();
    assert!(last.done == last.all && last.all == (6 << 22) + 33, "{last:?}");
    for threads in [1, 4] {
        let load = file.load().threads(threads).progress(|_| ControlFlow::Break(()));
        assert!(matches!(load.run(), Err(Error::Stopped { .. })));
    }
    assert_eq!(file.load().filter(|_| false).run().unwrap().tensors().len(), 0);
}

#[test]
fn an_alignment_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model(&path);
    let file = open(&path).unwrap();
    for align in [0, 3, 48, 4097, 8192, usize::MAX] {
        let error = file.load().align(align).run().unwrap_err();
        assert!(matches!(error, Error::Align { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = format!("the alignment must be a power of two up to 4096 bytes, got {align}");
        assert_eq!(error.to_string(), text);
    }
    for align in [1, 2, 64, 4096] {
        let loaded = file.load().align(align).run().unwrap();
        for (name, tensor) in loaded.tensors().iter().filter(|(_, tensor)| !tensor.is_empty()) {
            let address = tensor.map_read().unwrap().as_slice().as_ptr().addr();
            assert!(address.is_multiple_of(align), "{name} at {address:#x}, asked for {align}");
        }
    }
}

#[test]
fn reads_past_the_cache_are_taken_when_cold() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("model.safetensors");
    model(&path);
    let mapped = open_file(&path).unwrap();
    let whole = 0..mapped.len();
    let cold = || {
        let file = File::open(&path).unwrap();
        rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        mapped.resident(whole.clone()).unwrap() < mapped.len() / 10
    };
    if !cold() {
        eprintln!("skipped: this file system keeps files in memory");
        return;
    }
    let loaded = open(&path).unwrap().load().run().unwrap();
    let direct = loaded.direct_bytes();
    if direct == 0 {
        eprintln!("skipped: this file system has no reads past the cache");
        return;
    }
    assert!(direct > 6 << 21, "{direct}");
    assert!(mapped.resident(whole.clone()).unwrap() < mapped.len() / 2, "nothing was cached");
    fs::read(&path).unwrap();
    let loaded = open(&path).unwrap().load().run().unwrap();
    assert_eq!(loaded.direct_bytes(), 0, "everything is in the cache");
}

// A user-mode emulator gives a big-endian program the halves of the fault's address exchanged.
#[test]
#[cfg_attr(target_endian = "big", ignore = "qemu-user gives a wrong address of the fault")]
fn a_file_that_shrinks_is_an_error_and_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let tensors = model(&path);
    let file = open(&path).unwrap();
    let large = file.tensor("large").unwrap();
    let guard = large.map_read().unwrap();
    assert_eq!(guard.as_slice()[4..8], 1.0f32.to_ne_bytes());
    file.intact().unwrap();
    let cut = Command::new("truncate").args(["-s", "1000000"]).arg(&path).status().unwrap();
    assert!(cut.success());
    // The guard still reads: zeros, where bytes are gone.
    let all = guard.as_slice();
    assert_eq!(all[..900_000], bytes(&tensors[1].1)[..900_000]);
    assert!(all[2_000_000..].iter().all(|byte| *byte == 0));
    assert!(guard.intact().unwrap_err().to_string().contains("cut off"));
    assert!(large.map_read().unwrap_err().to_string().contains("cut off"));
    assert!(file.intact().unwrap_err().to_string().contains("model.safetensors: "));
    for direct in [Direct::WhenCold, Direct::Never, Direct::Always] {
        let error = file.load().direct(direct).run().unwrap_err();
        assert!(matches!(error.cause(), Error::CutOff { had: 25_169_953, .. }), "{error}");
        assert!(error.to_string().contains("model.safetensors: byte "), "{error}");
    }
    // What is saved of a view that lost its bytes is nothing.
    let copy = folder.path().join("copy.safetensors");
    let error = safetensors::save(&copy, &[("large", large)], &Default::default()).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    assert!(!copy.exists());
    assert!(open(&path).unwrap_err().to_string().contains("of 995904 bytes of tensors"));
}

#[test]
fn a_file_that_is_replaced_stays_for_those_who_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    npy::save(&path, &numbers(100_000)).unwrap();
    let old = open(&path).unwrap();
    npy::save(&path, &numbers(3)).unwrap();
    assert_eq!(old.tensor("a").unwrap().len(), 100_000);
    let loaded = old.load().direct(Direct::Always).run().unwrap();
    assert!(bytes(&loaded.tensor("a").unwrap()) == bytes(&numbers(100_000).to_dyn()));
    old.intact().unwrap();
    assert_eq!(open(&path).unwrap().tensor("a").unwrap().len(), 3);
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.npy");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let link = folder.path().join("link.safetensors");
    symlink(&pipe, &link).unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let start = Instant::now();
    for (path, said) in [
        (pipe.as_path(), "pipe.npy: it is a pipe"),
        (&link, "it is a pipe"),
        (Path::new("/dev/zero"), "/dev/zero: it is a device"),
        (Path::new("/dev/tty"), "/dev/tty: it"),
        (Path::new("/proc/self/mem"), "/proc/self/mem: it begins with nothing"),
        (Path::new("/proc/version"), "/proc/version: it begins with nothing"),
        (&empty, "empty: the folder has 0 indices and 0 safetensors files"),
        (&folder.path().join("missing"), "missing: it cannot be opened: No such file"),
        (Path::new("/dev/null"), "/dev/null: it is a device"),
    ] {
        let error = open(path).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    assert!(open_file(&pipe).unwrap_err().to_string().contains("a pipe"));
    assert!(start.elapsed() < Duration::from_secs(5), "nothing is waited for");
    let wrong = folder.path().join("model.safetensors");
    fs::write(&wrong, "<html>404</html>").unwrap();
    let error = open(&wrong).unwrap_err().to_string();
    assert!(error.contains("begins with `<html>40`"), "{error}");
    assert!(
        open_as(&wrong, Format::Safetensors).unwrap_err().to_string().contains("has a head of")
    );
}

#[test]
fn raw_files_are_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame.raw");
    fs::write(&path, [1, 2, 3]).unwrap();
    let file = open(&path).unwrap();
    assert_eq!(
        (file.format(), bytes(&file.tensor("frame").unwrap())),
        (Format::Raw, vec![1, 2, 3])
    );
    fs::write(&path, []).unwrap();
    assert!(open(&path).unwrap().tensor("frame").unwrap().is_empty());
}

/// On machines of either order: `tenure stream tap` writes them so.
#[test]
fn raw_files_are_little_endian() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame.raw");
    fs::write(&path, [0xff, 0xff, 0x12, 0x34, 0x56, 0x78]).unwrap();
    let file = open_raw(&path, DType::U16, &[2], 2).unwrap();
    let values =
        |tensor: TensorDyn| tensor.typed::<u16>().unwrap().map_read().unwrap().as_slice().to_vec();
    assert_eq!(values(file.tensor("frame").unwrap()), [0x3412, 0x7856]);
    let loaded = file.load().memory(TensorMemory::Mem).run().unwrap();
    assert_eq!(values(loaded.tensor("frame").unwrap()), [0x3412, 0x7856]);
    // A view of them is one only where nothing has to be turned around.
    assert_eq!(file.view("frame").is_ok(), cfg!(target_endian = "little"));
}

#[test]
fn folders_have_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let save = |file: &str, tensors: &[(&str, TensorDyn)]| {
        safetensors::save(at(file), tensors, &safetensors::Save::default()).unwrap();
    };
    save("model-1.safetensors", &[("a", numbers(3).to_dyn()), ("b", numbers(4).to_dyn())]);
    // One file alone needs no index.
    assert_eq!(open(folder.path()).unwrap().entries().len(), 2);
    save("model-2.safetensors", &[("c", numbers(5).to_dyn())]);
    let error = open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("0 indices and 2 safetensors files"), "{error}");
    let index = at("model.safetensors.index.json");
    let (one, two) = ("model-1.safetensors", "model-2.safetensors");
    fs::write(&index, format!(r#"{{"metadata":{{"total_size":48}},"weight_map":{{"c":"{two}","a":"{one}","b":"{one}"}}}}"#))
        .unwrap();
    for path in [folder.path(), &index] {
        let file = open(path).unwrap();
        let names: Vec<_> = file.entries().iter().map(|e| (e.name(), e.shard())).collect();
        assert_eq!(names, [("b", 0), ("a", 0), ("c", 1)]);
        let loaded = file.load().memory(TensorMemory::Mem).run().unwrap();
        for (name, count) in [("a", 3), ("b", 4), ("c", 5)] {
            assert_eq!(bytes(&file.tensor(name).unwrap()), bytes(&numbers(count).to_dyn()));
            assert_eq!(bytes(&loaded.tensor(name).unwrap()), bytes(&numbers(count).to_dyn()));
        }
    }
    for (map, said) in [
        (format!(r#""d":"{one}""#), "names `d`, which"),
        (r#""a":"../../etc/passwd""#.to_owned(), "not beside it"),
        (r#""a":"/etc/passwd""#.to_owned(), "not beside it"),
        (r#""a":"""#.to_owned(), "not beside it"),
        (r#""a":"none.safetensors""#.to_owned(), "No such file"),
        (format!(r#""a":"{one}","a":"{two}""#), "two tensors `a`"),
        (r#""a":7"#.to_owned(), "makes no sense"),
    ] {
        fs::write(&index, format!(r#"{{"weight_map":{{{map}}}}}"#)).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(said), "{map}: {error}");
    }
}

#[test]
fn arrays_of_numpy_of_any_order_and_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let write = |head: &str, elements: &[u8]| {
        let mut file = File::create(&path).unwrap();
        file.write_all(b"\x93NUMPY\x01\x00").unwrap();
        file.write_all(&(head.len() as u16).to_le_bytes()).unwrap();
        file.write_all(head.as_bytes()).unwrap();
        file.write_all(elements).unwrap();
    };
    write("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", &[1, 4, 2, 5, 3, 6]);
    let file = open(&path).unwrap();
    for t in [file.tensor("a").unwrap(), file.load().run().unwrap().tensor("a").unwrap()] {
        assert_eq!(t.shape(), [2, 3]);
        assert_eq!(bytes(&t.to(Some(TensorMemory::Mem)).unwrap()), [1, 2, 3, 4, 5, 6]);
    }
    write(
        "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }",
        b"a\0\0\0b\0\0\0c\0\0\0d\0\0\0",
    );
    let file = open(&path).unwrap();
    assert_eq!((file.entries()[0].elements().name(), file.entries()[0].shape()), ("<U2", &[2][..]));
    let t = file.tensor("a").unwrap();
    assert_eq!((t.dtype(), t.shape()), (DType::U8, &[16][..]));
    // Elements that begin at no multiple of their size are copied.
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    write(
        &format!("{{'descr': '{order}f4', 'fortran_order': False, 'shape': (2,), }}"),
        &[1.0f32, 2.0].map(f32::to_ne_bytes).concat(),
    );
    let file = open(&path).unwrap();
    assert!(file.entries()[0].copied().is_some(), "{:?}", file.entries());
    assert!(file.view("a").unwrap_err().to_string().contains("multiple of its element size"));
    let t = file.tensor("a").unwrap().typed::<f32>().unwrap();
    assert_eq!(t.map_read().unwrap().as_slice(), [1.0, 2.0]);
    for (descr, said) in [
        ("'|O'", "`|O`"),
        ("__import__('os').system('true')", "where text belongs"),
        ("[('a', '<f4')]", "where text belongs"),
    ] {
        write(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}"), &[0; 8]);
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn names_and_types_that_cannot_be_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let t = numbers(1).to_dyn();
    let save = |tensors: &[(&str, TensorDyn)]| {
        safetensors::save(&path, tensors, &safetensors::Save::default()).unwrap_err().to_string()
    };
    assert!(save(&[("a", t.clone()), ("a", t.clone())]).contains("two tensors"));
    assert!(save(&[("__metadata__", t.clone())]).contains("`__metadata__`"));
    let nibbles = TensorDyn::new(&[2], DType::I4, Some(TensorMemory::Mem), None).unwrap();
    assert!(save(&[("a", nibbles)]).contains("no element type i4: convert to i8"));
    let held = numbers(4);
    let _map = held.map().unwrap();
    assert!(save(&[("a", held.to_dyn())]).contains("a.safetensors: cannot"));
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is left");
    let mut how = safetensors::Save::default();
    how.metadata.push(("format".to_owned(), "pt \"quoted\"".to_owned()));
    let turned = Tensor::<u8>::from_slice(&[1, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let turned = turned.permute(&[1, 0]).unwrap().to_dyn();
    safetensors::save(&path, &[("é \u{1}", turned)], &how).unwrap();
    let file = open(&path).unwrap();
    assert_eq!(file.metadata(), how.metadata);
    assert_eq!(bytes(&file.tensor("é \u{1}").unwrap()), [1, 4, 2, 5, 3, 6]);
}
