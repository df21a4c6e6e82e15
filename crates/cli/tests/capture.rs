//! `tenure capture` and the cameras of `tenure info`: what is wrong is told in one line on every
//! machine; files and pictures are looked at where there is the kernel's test camera (vivid).

mod common;

use common::run;

#[cfg(target_os = "linux")]
#[path = "capture/vivid.rs"]
mod vivid;

#[test]
fn a_wrong_command_line_says_what_would_be_right() {
    let cases: [(&[&str], &str); 8] = [
        (&[], "<DEVICE>"),
        (&["/dev/video0", "--frames", "0"], "0 is not in 1..=1000000"),
        (&["/dev/video0", "--format", "nv13"], "nv12, nv21, nv16, nv24, i420, p010, mjpg"),
        (&["/dev/video0", "--size", "1280"], "like 1280x720"),
        (&["/dev/video0", "--fps", "0"], "above zero"),
        (&["/dev/video0", "--timeout", "never"], "at most 3600"),
        (&["/dev/video0", "--only", "jpg"], "png, npy"),
        (&["/dev/video0", "--skip=-1"], "--skip"),
    ];
    for (arguments, words) in cases {
        let (out, errors, code) = run(&[&["capture"], arguments].concat());
        assert_eq!((out.as_str(), code), ("", Some(2)), "{arguments:?}");
        assert!(errors.starts_with("error: ") && errors.contains(words), "{errors}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_camera_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("frames");
    let cases = [
        ("/dev/video987654", "there is no /dev/video987654; "),
        ("/dev/null", "/dev/null is no camera: it is a device that does not speak V4L2"),
        ("/dev", "/dev is no camera: it is a folder"),
        (env!("CARGO_MANIFEST_DIR"), "is no camera: it is a folder"),
        (env!("CARGO_BIN_EXE_tenure"), "is no camera: it is a file"),
    ];
    for (device, words) in cases {
        let (out, errors, code) = run(&["capture", device, "-o", output.to_str().unwrap()]);
        assert_eq!((out.as_str(), code), ("", Some(1)), "{errors}");
        assert!(errors.starts_with("error: ") && errors.contains(words), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(!output.exists(), "nothing is made before there is a camera");
    }
}

#[cfg(not(target_os = "linux"))]
#[test]
fn systems_without_v4l2_say_so() {
    let (out, errors, code) = run(&["capture", "/dev/video0"]);
    assert_eq!((out.as_str(), code), ("", Some(1)));
    assert!(errors.contains("V4L2"), "{errors}");
}
