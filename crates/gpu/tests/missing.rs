//! Why there is no device: three states, told apart, with the libraries that really say so.
#![cfg(all(linux_like, feature = "cuda", feature = "hip", feature = "opencl"))]

use tenure_gpu::{Missing, backends, cuda, hip, opencl};

#[test]
fn a_library_that_is_not_there() {
    for ask in [cuda::ask_runtime, hip::ask_runtime, opencl::ask_loader] {
        let error = ask("libnobody-has-this.so.9").unwrap_err();
        assert!(matches!(&error, Missing::NoLibrary { .. }), "{error}");
        let words = error.to_string();
        assert!(words.starts_with("no library: libnobody-has-this.so.9"), "{words}");
    }
}

#[test]
fn a_library_of_somebody_else() {
    let error = cuda::ask_runtime("libc.so.6").unwrap_err().to_string();
    assert!(error.starts_with("driver too old") && error.contains("cudaGetDeviceCount"), "{error}");
    let error = opencl::ask_loader("libc.so.6").unwrap_err().to_string();
    assert!(error.starts_with("driver too old") && error.contains("clGetPlatformIDs"), "{error}");
}

#[test]
fn every_backend_has_devices_or_says_why_not() {
    for backend in backends() {
        match backend.devices() {
            Ok(devices) => assert!(!devices.is_empty(), "{}", backend.name),
            Err(why) => assert!(why.to_string().len() > 20, "{}: {why}", backend.name),
        }
        let error = backend.open(4_000_000).unwrap_err().to_string();
        assert!(error.contains("opening a device"), "{error}");
    }
}

/// `TENURE_TEST_CUDART` and `TENURE_TEST_HIP` name the libraries: `tests/gpu/test` gets them.
#[test]
#[ignore = "needs the runtimes of NVIDIA and AMD, and a machine without their devices"]
fn runtimes_without_driver_and_without_device() {
    let library = |name: &str| std::env::var(name).unwrap();
    let cuda = cuda::ask_runtime(&library("TENURE_TEST_CUDART")).unwrap_err();
    assert!(matches!(&cuda, Missing::TooOld { .. }), "{cuda}");
    assert!(cuda.to_string().contains("answers 35"), "{cuda}");
    let hip = hip::ask_runtime(&library("TENURE_TEST_HIP")).unwrap_err();
    assert!(matches!(&hip, Missing::NoDevice { .. }), "{hip}");
    assert!(hip.to_string().starts_with("no device: "), "{hip}");
}
