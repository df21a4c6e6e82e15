//! `tenure convert`: what it writes is what the library makes, and what it refuses it names.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{run, tenure};
use serde_json::Value;
use tenure::image::{Convert, Fit, ImageProcessor, Normalize, Rotation, codec};
use tenure::{Colour, DType, DynTensor, PixelFormat, TensorDyn, TensorMemory, files};

const HEAP: Option<TensorMemory> = Some(TensorMemory::Mem);

/// A folder with pictures of a pattern in it.
struct Pictures(tempfile::TempDir);

impl Pictures {
    fn new() -> Pictures {
        let folder = Pictures(tempfile::tempdir().unwrap());
        let rgb = pattern(64, 36);
        codec::save(folder.path("in.png"), &rgb).unwrap();
        codec::save(folder.path("in.jpg"), &rgb).unwrap();
        let mut array = vec![];
        files::npy::write(&mut array, &rgb).unwrap();
        fs::write(folder.path("in.npy"), array).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn word(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Runs a conversion that works; gives its JSON.
    fn convert(&self, input: &str, output: &str, options: &[&str]) -> Value {
        let (input, output) = (self.word(input), self.word(output));
        let all = [&["convert", &input, &output, "--json"], options].concat();
        let (out, errors, code) = run(&all);
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{options:?}");
        serde_json::from_str(&out).unwrap()
    }

    /// Runs a conversion that does not; gives its error.
    fn refused(&self, input: &str, output: &str, options: &[&str]) -> String {
        let (input, output) = (self.word(input), self.word(output));
        let (out, errors, code) = run(&[&["convert", &input, &output], options].concat());
        assert_eq!((out.as_str(), code), ("", Some(1)), "{options:?}");
        errors
    }
}

/// Four quarters of different colours, with gradients in them.
fn pattern(width: usize, height: usize) -> TensorDyn {
    let t = TensorDyn::image(width, height, PixelFormat::Rgb, DType::U8, HEAP, None).unwrap();
    for (at, pixel) in t.map().unwrap().as_mut_slice().chunks_mut(3).enumerate() {
        let (x, y) = (at % width, at / width);
        let (left, top) = (x < width / 2, y < height / 2);
        let shade = (x * 100 / width + y * 100 / height) as u8;
        pixel[0] = if left { 50 + shade } else { shade };
        pixel[1] = if top { 55 + shade } else { shade };
        pixel[2] = if left == top { 200 - shade } else { 30 };
    }
    t
}

fn bytes(t: &TensorDyn) -> Vec<u8> {
    t.map_read().unwrap().as_slice().to_vec()
}

fn read(path: &Path) -> TensorDyn {
    codec::open_in(path, HEAP).unwrap()
}

/// What the library makes of it.
fn made(
    source: &TensorDyn,
    (width, height): (usize, usize),
    format: PixelFormat,
    dtype: DType,
    convert: &Convert,
) -> TensorDyn {
    let target = TensorDyn::image(width, height, format, dtype, HEAP, None).unwrap();
    ImageProcessor::new().unwrap().convert(source, &target, convert).unwrap();
    target
}

#[test]
fn files_are_what_the_library_makes() {
    let folder = Pictures::new();
    let letterbox = Convert::new().fit(Fit::letterbox(114));
    for input in ["in.png", "in.jpg", "in.npy"] {
        let source = match input {
            "in.npy" => pattern(64, 36),
            name => read(&folder.path(name)),
        };
        let report = folder.convert(input, "box.png", &["--to", "40x40", "--fit", "letterbox"]);
        let expected = made(&source, (40, 40), PixelFormat::Rgb, DType::U8, &letterbox);
        assert_eq!(bytes(&read(&folder.path("box.png"))), bytes(&expected), "{input}");
        let content = &report["placement"]["content"];
        assert_eq!([&content["width"], &content["height"]], [40, 23], "{content}");
        assert_eq!(report["source"]["width"], 64);
        assert_eq!(report["engine"], "cpu");

        let options = ["--to", "32x32", "--normalize", "imagenet", "--format", "planar-rgb"];
        folder.convert(input, "model.npy", &options);
        let convert = Convert::new().normalize(Normalize::IMAGENET);
        let expected = made(&source, (32, 32), PixelFormat::PlanarRgb, DType::F32, &convert);
        let array = files::npy::read(&fs::read(folder.path("model.npy")).unwrap(), HEAP).unwrap();
        assert_eq!((array.shape(), array.dtype()), (&[3, 32, 32][..], DType::F32));
        assert_eq!(bytes(&array), bytes(&expected), "{input}");
    }
}

#[test]
fn turns_flips_and_crops_give_the_way_back() {
    let folder = Pictures::new();
    let source = read(&folder.path("in.png"));
    let report = folder.convert(
        "in.png",
        "turned.png",
        &["--crop", "32x18+8+4", "--rotate", "90", "--flip", "horizontal"],
    );
    let crop = tenure::Region::new(8, 4, 32, 18);
    let convert = Convert::new().crop(crop).rotation(Rotation::Quarter).flips(true, false);
    let expected = made(&source, (18, 32), PixelFormat::Rgb, DType::U8, &convert);
    assert_eq!(bytes(&read(&folder.path("turned.png"))), bytes(&expected));
    let m: Vec<f64> = report["placement"]["to_source"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_f64().unwrap())
        .collect();
    let back = |x: f64, y: f64| (m[0] * x + m[1] * y + m[2], m[3] * x + m[4] * y + m[5]);
    // Turned and mirrored is transposed: the corner stays where it is.
    assert_eq!((back(0.0, 0.0), back(18.0, 32.0)), ((8.0, 4.0), (40.0, 22.0)));
}

#[test]
fn raw_frames_have_their_colours() {
    let folder = Pictures::new();
    // From red, green and blue to NV12 and back, in the matrix and range that are said.
    let said = ["--matrix", "bt709", "--range", "limited"];
    folder.convert("in.png", "frame.raw", &[&said[..], &["--format", "nv12"]].concat());
    let mut source = TensorDyn::image(64, 36, PixelFormat::Nv12, DType::U8, HEAP, None).unwrap();
    let frame = fs::read(folder.path("frame.raw")).unwrap();
    assert_eq!(frame.len(), 64 * 36 * 3 / 2);
    source.map().unwrap().as_mut_slice().copy_from_slice(&frame);
    let from = ["--from", "nv12:64x36"];
    folder.convert("frame.raw", "back.png", &[&said[..], &from].concat());
    let back = read(&folder.path("back.png"));
    let mean = |t: &TensorDyn| {
        let (a, b) = (bytes(t), bytes(&pattern(64, 36)));
        a.iter().zip(&b).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.len() as f64
    };
    assert!(mean(&back) < 4.0, "{}", mean(&back));
    source.set_colour(Some(Colour::HD));
    let expected = made(&source, (64, 36), PixelFormat::Rgb, DType::U8, &Convert::new());
    assert_eq!(bytes(&back), bytes(&expected));
    // Said to be something else, it looks like something else.
    folder.convert("frame.raw", "other.png", &from);
    assert!(mean(&read(&folder.path("other.png"))) > 4.0);
    // The array of a frame is a frame too.
    let mut array = vec![];
    files::npy::write(&mut array, &source).unwrap();
    fs::write(folder.path("frame.npy"), array).unwrap();
    folder.convert("frame.npy", "array.png", &[&said[..], &from].concat());
    assert_eq!(bytes(&read(&folder.path("array.png"))), bytes(&expected));
}

#[test]
fn scale_and_normalize_go_together() {
    let folder = Pictures::new();
    // As the front page has it.
    let planar = ["--to", "64x64", "--fit", "letterbox", "--fill", "114", "--filter", "bilinear"];
    let planar = [&planar[..], &["--format", "planar-rgb", "--dtype", "f32"]].concat();
    for (name, options) in [
        ("both.npy", &["--scale", "1/255", "--normalize", "imagenet"][..]),
        ("alone.npy", &["--normalize", "imagenet"]),
        ("scaled.npy", &["--scale", "1/255", "--normalize", "none"]),
        ("bare.npy", &["--scale", "1/255"]),
    ] {
        folder.convert("in.png", name, &[&planar[..], options].concat());
    }
    let file = |name: &str| fs::read(folder.path(name)).unwrap();
    assert_eq!(file("both.npy"), file("alone.npy"));
    assert_eq!(file("scaled.npy"), file("bare.npy"));
    assert_ne!(file("both.npy"), file("bare.npy"));
}

#[test]
fn arrays_in_planes_come_back() {
    let folder = Pictures::new();
    folder.convert("in.png", "planes.npy", &["--format", "planar-rgb"]);
    let report = folder.convert("planes.npy", "back.png", &[]);
    assert_eq!(report["source"]["format"], "planar-rgb");
    assert_eq!(bytes(&read(&folder.path("back.png"))), bytes(&pattern(64, 36)));
}

#[test]
fn raw_frames_of_odd_sizes_come_back() {
    let folder = Pictures::new();
    codec::save(folder.path("odd.png"), &pattern(33, 17)).unwrap();
    folder.convert("odd.png", "odd.raw", &["--format", "nv12"]);
    let frame = fs::read(folder.path("odd.raw")).unwrap();
    // Luma of 33 bytes a row, and chroma of 17 pairs: nothing between them.
    assert_eq!(frame.len(), 33 * 17 + 34 * 9);
    for (output, again) in [("same.raw", "odd.raw"), ("same.npy", "array.raw")] {
        let nv12 = ["--from", "nv12:33x17", "--format", "nv12"];
        folder.convert("odd.raw", output, &nv12);
        folder.convert(output, again, &nv12);
        assert_eq!(fs::read(folder.path(again)).unwrap(), frame, "{output}");
    }
    folder.convert("odd.raw", "back.png", &["--from", "nv12:33x17"]);
    let (back, source) = (bytes(&read(&folder.path("back.png"))), bytes(&pattern(33, 17)));
    let differ: u32 = back.iter().zip(&source).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
    assert!(differ < 15 * back.len() as u32, "{differ}");
    // Every format is read whole: a last byte of its own shows that nothing moved.
    for format in PixelFormat::all() {
        let dtype = if format == PixelFormat::P010 { DType::U16 } else { DType::U8 };
        let bytes = tenure::ImageLayout::new(7, 5, format, dtype, None).unwrap().packed_bytes();
        fs::write(folder.path("any.raw"), vec![128; bytes]).unwrap();
        folder.convert("any.raw", "any.png", &["--from", &format!("{format}:7x5")]);
        let picture = self::bytes(&read(&folder.path("any.png")));
        assert!(picture.iter().all(|byte| byte.abs_diff(128) <= 1), "{format}: {picture:?}");
    }
}

#[test]
fn folders_are_converted_whole() {
    let folder = Pictures::new();
    fs::create_dir(folder.path("many")).unwrap();
    for name in ["a.png", "b.png", "c.png"] {
        fs::copy(folder.path("in.png"), folder.path("many").join(name)).unwrap();
    }
    fs::copy(folder.path("in.jpg"), folder.path("many/d.JPG")).unwrap();
    fs::write(folder.path("many/notes.txt"), "no picture").unwrap();
    let options = ["--to", "16x16", "--scale", "1/255", "--threads", "2"];
    let report = folder.convert("many", "out/deep", &options);
    assert_eq!(report["pictures"].as_array().unwrap().len(), 4);
    let mut names: Vec<_> = fs::read_dir(folder.path("out/deep"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["a.npy", "b.npy", "c.npy", "d.npy"]);

    // One that is damaged does not keep the others.
    fs::write(folder.path("many/b.png"), b"\x89PNG\r\n\x1a\nnot").unwrap();
    let (input, output) = (folder.word("many"), folder.word("some"));
    let (out, errors, code) = run(&["convert", &input, &output]);
    assert_eq!(code, Some(1));
    assert!(out.contains("3 of 4 pictures") && out.contains("b.png"), "{out}");
    assert!(errors.contains("1 of 4 pictures were not converted"), "{errors}");
    assert_eq!(fs::read_dir(folder.path("some")).unwrap().count(), 3);
    fs::write(folder.path("many/a.jpg"), "").unwrap();
    let words = folder.refused("many", "some", &[]);
    assert!(words.contains("would both become"), "{words}");
    fs::create_dir(folder.path("empty")).unwrap();
    assert!(folder.refused("empty", "some", &[]).contains("no jpg or png"), "no pictures");
}

#[test]
fn what_is_refused_is_named() {
    let folder = Pictures::new();
    fs::write(folder.path("text.png"), "no picture").unwrap();
    let png = fs::read(folder.path("in.png")).unwrap();
    fs::write(folder.path("cut.png"), &png[..png.len() - 20]).unwrap();
    fs::write(folder.path("out.png"), "before").unwrap();
    // A device of characters by such a name is a camera's.
    std::os::unix::fs::symlink("/dev/null", folder.path("video0")).unwrap();
    folder.convert("in.png", "floats.npy", &["--format", "planar-rgb", "--scale", "1/255"]);
    for (input, output, options, said) in [
        ("none.png", "out.png", &[][..], "none.png cannot be read: No such file"),
        ("text.png", "out.png", &[], "neither a JPEG nor a PNG"),
        ("cut.png", "out.png", &[], "cut.png: the png file cannot be decoded"),
        ("in.png", "out.gif", &[], "name it .png, .jpg, .npy or .raw"),
        ("in.png", "out.png", &["--dtype", "f32"], "png files hold u8, not f32"),
        ("in.png", "out.npy", &["--dtype", "i8", "--scale", "1/255"], "say --dtype f32"),
        ("in.png", "out.npy", &["--dtype", "i32"], "not converted to i32"),
        ("in.png", "out.npy", &["--dtype", "bf16"], "bf16: convert to f32"),
        ("in.png", "out.png", &["--fill", "3"], "--fill is for --fit letterbox"),
        ("in.png", "out.png", &["--rotate", "45"], "cannot rotate by 45"),
        ("in.png", "out.png", &["--crop", "64x36+1+0"], "64x36+1+0"),
        ("in.png", "out.npy", &["--format", "nv16"], "nv16"),
        ("in.png", "out.png", &["--as", "png"], "--as is for folders"),
        ("video0", "out.png", &["--from", "nv12:64x36"], "--from is for files; a camera says"),
        ("floats.npy", "out.png", &[], "no black and white of their own"),
        ("in.npy", "out.png", &["--from", "nv12:64x64"], "6912 bytes; a frame of nv12"),
        ("in.png", "none/out.png", &[], "none/out.png cannot be written"),
    ] {
        let words = folder.refused(input, output, options);
        assert!(words.starts_with("error: ") && words.contains(said), "{options:?}: {words}");
    }
    assert_eq!(fs::read(folder.path("out.png")).unwrap(), b"before", "what was there stays");
    for wrong in ["--fit=squeeze", "--filter=cubic", "--scale=0", "--from=nv13:2x2", "--crop=1x1"] {
        let (_, errors, code) = run(&["convert", "a.png", "b.png", wrong]);
        assert_eq!(code, Some(2), "{errors}");
        let value = wrong.split_once('=').unwrap().1;
        assert!(errors.contains(value.split(':').next().unwrap()), "{errors}");
    }
}

#[test]
fn engines_explain_themselves_and_agree() {
    let folder = Pictures::new();
    let to = ["--to", "30x30", "--engine"];
    folder.convert("in.png", "cpu.png", &[&to[..], &["cpu"]].concat());
    let report = folder.convert("in.png", "reference.png", &[&to[..], &["reference"]].concat());
    assert_eq!(report["engine"], "reference");
    let (a, b) = ("cpu.png", "reference.png");
    let (a, b) = (bytes(&read(&folder.path(a))), bytes(&read(&folder.path(b))));
    assert!(a.iter().zip(&b).all(|(a, b)| a.abs_diff(*b) <= 1));
    // OpenGL does it, or says why it cannot.
    let (input, output) = (folder.word("in.png"), folder.word("gl.png"));
    let (out, errors, code) =
        run(&["convert", &input, &output, "--json", "--to", "30x30", "--engine", "gl"]);
    if code == Some(0) {
        assert!(out.contains("\"engine\":\"gl\"") || out.contains("\"engine\": \"gl\""), "{out}");
        let c = bytes(&read(&folder.path("gl.png")));
        assert!(a.iter().zip(&c).all(|(a, c)| a.abs_diff(*c) <= 2));
    } else {
        assert!(errors.contains("there is no OpenGL ES 3 here"), "{errors}");
    }
    let report = folder.convert("in.png", "none.png", &["--explain"]);
    let order = |report: &Value| -> Vec<(String, bool)> {
        let engines = report["engines"].as_array().unwrap().iter();
        let word = |one: &Value| one["engine"].as_str().unwrap().to_owned();
        engines.map(|one| (word(one), one["tried"].as_bool().unwrap())).collect()
    };
    let said = |words: &[(&str, bool)]| -> Vec<(String, bool)> {
        words.iter().map(|(word, tried)| ((*word).to_owned(), *tried)).collect()
    };
    assert_eq!(order(&report), said(&[("cpu", true), ("gl", true), ("reference", false)]));
    let mut command = tenure(&["convert", &input, &output, "--explain", "--json"]);
    let (out, _, _) =
        common::answer(command.env("TENURE_IMAGE_ENGINE", "reference,cpu").output().unwrap());
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(order(&report), said(&[("reference", true), ("cpu", true), ("gl", false)]));
    let report = folder.convert("in.png", "none.png", &["--explain", "--engine", "reference"]);
    assert_eq!(order(&report), said(&[("reference", true)]));
    assert!(!folder.path("none.png").exists(), "nothing is written");
    let (input, output) = (folder.word("in.png"), folder.word("none.png"));
    let mut command = tenure(&["convert", &input, &output, "--explain"]);
    let (out, _, code) = common::answer(command.output().unwrap());
    assert!(code == Some(0) && out.contains("✓ cpu") && out.contains("✓ reference"), "{out}");
}
