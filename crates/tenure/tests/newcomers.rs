//! Programs as newcomers write them from the first page of the manual alone: they have to compile.
//! What differs from what was first written is noted in each; why is in the documentation of the
//! function that is called.
#![cfg(target_os = "linux")]

#[path = "newcomers/camera.rs"]
mod camera;
#[path = "newcomers/convert.rs"]
mod convert;
#[path = "newcomers/stream.rs"]
mod stream;

#[test]
fn pictures_are_converted_into_elements_of_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    convert::convert(&folder.path().join("x.png")).unwrap();
}

#[test]
fn a_slot_is_a_destination() {
    let name = format!("newcomers/{}", std::process::id());
    stream::stream(&name).unwrap();
}

#[test]
fn a_camera_is_an_iterator() {
    // There may be no camera: it has to compile, and to say so.
    assert!(camera::camera("/dev/there-is-no-such-camera").is_err());
}
