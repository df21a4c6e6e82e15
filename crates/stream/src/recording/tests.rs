use std::fs;
use std::time::Duration;

use super::*;
use crate::{Meta, Publisher, Spec, Subscriber};
use proptest::prelude::*;
use tenure_layout::{Colour, Quantization, order};
use tenure_tensor::{DType, PixelFormat};

const SOON: Duration = Duration::from_secs(60);

/// A recording of frames of several kinds.
fn recorded(folder: &std::path::Path) -> Vec<Spec> {
    let place = tempfile::tempdir().unwrap();
    let scales = Quantization::per_axis(vec![0.5, 0.25], vec![1, 2], 0).unwrap();
    let specs = vec![
        Spec::tensor(DType::F32, &[3, 5]).unwrap(),
        Spec::image(5, 3, PixelFormat::Nv12).unwrap().with_colour(Colour::HD),
        Spec::tensor(DType::I8, &[2, 4]).unwrap().with_quantization(scales),
        Spec::image(4, 2, PixelFormat::PlanarRgb).unwrap(),
    ];
    let mut publisher = Publisher::builder("s").directory(place.path()).open().unwrap();
    let mut subscriber = Subscriber::builder("s").directory(place.path()).open().unwrap();
    let mut recorder = Recorder::create(folder).unwrap();
    for (number, spec) in specs.iter().enumerate() {
        let slot = publisher.claim_as(spec).unwrap();
        let bytes: Vec<u8> = (0..spec.flat_bytes()).map(|at| (at + number) as u8).collect();
        crate::fill(slot.tensor(), &mut &bytes[..]).unwrap();
        slot.publish(Meta::new().blob(b"\"\xff").timestamp(Duration::from_nanos(7))).unwrap();
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert_eq!(recorder.add(&frame).unwrap(), bytes.len() as u64);
    }
    specs
}

#[test]
fn what_is_recorded_is_read() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("kept");
    let specs = recorded(&folder);
    assert!(matches!(Recorder::create(&folder), Err(Error::Exists(_))));
    let mut recording = Recording::open(&folder).unwrap();
    assert_eq!(recording.check(|| false).unwrap(), specs.len() as u64);
    let mut looks = 0;
    let stopped = recording.check(|| {
        looks += 1;
        looks > 2
    });
    assert_eq!(stopped.unwrap(), 2);
    let mut publisher = Publisher::builder("s").directory(place.path()).open().unwrap();
    for (number, spec) in specs.iter().enumerate() {
        let entry = recording.next().unwrap().unwrap();
        assert_eq!((entry.spec(), entry.sequence()), (spec, number as u64));
        assert_eq!(entry.timestamp(), Some(Duration::from_nanos(7)));
        assert_eq!(entry.blob(), b"\"\xff");
        let slot = publisher.claim_as(spec).unwrap();
        recording.read(&entry, slot.tensor()).unwrap();
        let mut flat = vec![0; spec.flat_bytes()];
        slot.tensor().copy_to_flat(&mut flat).unwrap();
        order::swap_little_endian(&mut flat, slot.tensor().dtype());
        assert!(flat.iter().enumerate().all(|(at, byte)| *byte == (at + number) as u8));
        drop(slot);
        let other = publisher.claim_as(&Spec::tensor(DType::U8, &[1]).unwrap()).unwrap();
        assert!(matches!(recording.read(&entry, other.tensor()), Err(Error::Damaged { .. })));
    }
    assert_eq!(recording.next().unwrap(), None);
}

#[test]
fn an_index_without_line_ends_is_refused_early() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join(FRAMES), [0; 4]).unwrap();
    // A terabyte of nothing.
    let index = fs::File::create(folder.join(INDEX)).unwrap();
    index.set_len(1 << 40).unwrap();
    let mut recording = Recording::open(folder).unwrap();
    let error = recording.check(|| false).unwrap_err();
    assert!(matches!(error, Error::Line { number: 1, .. }), "{error}");
    // The same after a good line: it is no line that was cut when the recording ended.
    let good = serde_json::json!({
        "sequence": 0, "taken": null, "published": 0, "offset": 0, "bytes": 4, "dtype": "u8",
        "shape": [4], "image": null, "quantization": null, "blob": []
    });
    fs::write(folder.join(INDEX), format!("{good}\n")).unwrap();
    let index = fs::OpenOptions::new().write(true).open(folder.join(INDEX)).unwrap();
    index.set_len(1 << 40).unwrap();
    let error = Recording::open(folder).unwrap().check(|| false).unwrap_err();
    assert!(matches!(error, Error::Line { number: 2, .. }), "{error}");
}

#[test]
fn copies_of_frames_have_a_limit() {
    let place = tempfile::tempdir().unwrap();
    let mut publisher = Publisher::builder("s").directory(place.path()).open().unwrap();
    let mut subscriber = Subscriber::builder("s").directory(place.path()).open().unwrap();
    let folder = place.path().join("kept");
    let mut recorder = Recorder::create(&folder).unwrap();
    recorder.set_copy_limit(100);
    for (bytes, kept) in [(100, true), (101, false), (7, true)] {
        let spec = Spec::tensor(DType::U8, &[bytes]).unwrap();
        publisher.claim_as(&spec).unwrap().publish(Meta::new()).unwrap();
        let frame = subscriber.next(SOON).unwrap().unwrap();
        match recorder.add(&frame) {
            Ok(written) => assert!(kept && written == bytes as u64, "{bytes}"),
            Err(error @ Error::Frame { .. }) => {
                assert!(!kept && error.to_string().contains("limit"), "{error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    // What was refused left nothing behind.
    let mut recording = Recording::open(&folder).unwrap();
    assert_eq!(recording.check(|| false).unwrap(), 2);
    assert_eq!(recording.next().unwrap().unwrap().spec().flat_bytes(), 100);
    assert_eq!(recording.next().unwrap().unwrap().spec().flat_bytes(), 7);
}

#[test]
fn pipes_are_not_waited_for() {
    for name in [FRAMES, INDEX] {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(FRAMES), [0; 4]).unwrap();
        fs::write(place.path().join(INDEX), "").unwrap();
        fs::remove_file(place.path().join(name)).unwrap();
        let path = place.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        let error = Recording::open(place.path()).unwrap_err();
        assert!(error.to_string().contains("it is a pipe"), "{error}");
    }
}

proptest! {
    /// Lines that were changed anywhere: an error, or something that can be.
    #[test]
    fn changed_lines_never_panic(changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let line = br#"{"sequence":1,"taken":7,"published":9,"offset":0,"bytes":22,"dtype":"u8","shape":[4,5],"image":{"format":"nv12","width":5,"height":3,"matrix":"bt709","range":"full"},"quantization":{"scales":[0.5],"zero_points":[3],"axis":null},"blob":[1,255]}"#;
        let mut line = line.to_vec();
        for (at, byte) in changes {
            let at = usize::from(at) % line.len();
            if let Some(place) = line.get_mut(at) {
                *place = if byte < 128 { byte } else { b'0' + byte % 10 };
            }
        }
        if let Ok(entry) = Entry::parse(&line, 1000) {
            assert!(entry.offset() + entry.spec().flat_bytes() as u64 <= 1000);
        }
    }
}
