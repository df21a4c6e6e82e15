//! Processors across a fork: their threads stay behind, so the child works without them, and neither
//! working nor dropping hangs or panics there.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "asks for a signal that ends a child which hangs")]

use std::sync::atomic::{AtomicBool, Ordering};

use tenure_image::{Convert, Fit, ImageProcessor};
use tenure_layout::{DType, PixelFormat};
use tenure_tensor::{DynTensor, TensorDyn, TensorMemory};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/fork.rs"]
mod fork;

fn image(width: usize, height: usize, format: PixelFormat) -> TensorDyn {
    let memory = Some(TensorMemory::Mem);
    TensorDyn::image(width, height, format, DType::U8, memory, None).unwrap()
}

fn processor(threads: Option<usize>) -> ImageProcessor {
    let config = ImageProcessor::builder().threads(threads);
    config.build().unwrap()
}

/// A picture with something in it, large enough for several threads.
fn source() -> TensorDyn {
    let source = image(640, 480, PixelFormat::Rgba);
    let mut bytes = source.map().unwrap();
    for (index, byte) in bytes.as_mut_slice().iter_mut().enumerate() {
        *byte = (index * 7 % 251) as u8;
    }
    drop(bytes);
    source
}

fn converted(processor: &ImageProcessor, source: &TensorDyn) -> Vec<u8> {
    let target = image(320, 320, PixelFormat::Rgb);
    let convert = Convert::new().fit(Fit::letterbox(114));
    processor.convert(source, &target, &convert).unwrap();
    target.map_read().unwrap().as_slice().to_vec()
}

/// Runs `work` in a child, which must end well, and soon.
fn in_child(work: impl FnOnce()) {
    let status = fork::fork(|| {
        // SAFETY: takes no address. The signal ends this process.
        unsafe { libc::alarm(60) };
        work();
        0
    });
    assert!(status.success(), "{status}");
}

#[test]
fn a_processor_works_and_goes_in_a_forked_process() {
    child::alone("a_processor_works_and_goes_in_a_forked_process", || {
        let source = source();
        for threads in [Some(4), None] {
            let mut kept = Some(processor(threads));
            let expected = converted(kept.as_ref().unwrap(), &source);
            in_child(|| {
                // The one from before, and one made here, which has threads of its own.
                let own = kept.take().unwrap();
                assert_eq!(converted(&own, &source), expected);
                assert_eq!(converted(&processor(threads), &source), expected);
                drop(own);
                // And once more: the child is a parent too.
                let own = processor(threads);
                in_child(|| {
                    assert_eq!(converted(&own, &source), expected);
                    assert_eq!(converted(&processor(threads), &source), expected);
                });
            });
            assert_eq!(converted(kept.as_ref().unwrap(), &source), expected);
        }
    });
}

/// Ends the threads that look at it.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_fork_in_the_middle_of_work_does_no_harm() {
    child::alone("a_fork_in_the_middle_of_work_does_no_harm", || {
        let picture = source();
        let over = AtomicBool::new(false);
        let mut kept = Some(processor(Some(4)));
        let expected = converted(kept.as_ref().unwrap(), &picture);
        let others: Vec<ImageProcessor> = (0..2).map(|_| processor(Some(3))).collect();
        std::thread::scope(|scope| {
            // Also after a panic here, or the threads would go on and the scope wait for them.
            let _stop = Stop(&over);
            for other in &others {
                let over = &over;
                scope.spawn(move || {
                    // Not the picture that the child reads: where a thread of the parent is entering
                    // a read of it in the middle of the fork, its lock stays taken in the child.
                    let source = &source();
                    while !over.load(Ordering::Relaxed) {
                        let _ = converted(other, source);
                    }
                });
            }
            for _ in 0..60 {
                // Its threads have just been at work, and may be anywhere.
                assert_eq!(converted(kept.as_ref().unwrap(), &picture), expected);
                in_child(|| {
                    assert_eq!(converted(kept.as_ref().unwrap(), &picture), expected);
                    drop(kept.take());
                });
            }
        });
    });
}

#[test]
fn a_fork_while_another_thread_makes_the_first_processor() {
    child::alone("a_fork_while_another_thread_makes_the_first_processor", || {
        for round in 0..60 {
            // The first processor of a process is made once, so each try is in one of its own.
            in_child(|| {
                let making = std::thread::spawn(|| std::mem::forget(processor(None)));
                let begin = std::time::Instant::now();
                while begin.elapsed() < std::time::Duration::from_micros(round * 10) {}
                in_child(|| {
                    converted(&processor(None), &source());
                });
                making.join().unwrap();
            });
        }
    });
}

/// The context stays behind with its thread.
#[test]
#[cfg(feature = "gl")]
fn a_processor_on_opengl_goes_in_a_forked_process() {
    child::alone("a_processor_on_opengl_goes_in_a_forked_process", || {
        let engines = vec![tenure_image::EngineKind::Gl];
        let mut kept = Some(ImageProcessor::builder().engines(engines).build().unwrap());
        let source = source();
        let expected = converted(kept.as_ref().unwrap(), &source);
        let buffer = || {
            let (format, memory) = (PixelFormat::Rgb, Some(TensorMemory::Pbo));
            kept.as_ref().unwrap().create_image(320, 320, format, DType::U8, memory).unwrap()
        };
        let mut buffers = Some([buffer(), buffer()]);
        // The child's are dropped before and after the processor.
        in_child(|| {
            let ([one, other], own) = (buffers.take().unwrap(), kept.take().unwrap());
            drop(one);
            let target = image(320, 320, PixelFormat::Rgb);
            let error = own.convert(&source, &target, &Convert::new()).unwrap_err().to_string();
            assert!(error.contains("forked off"), "{error}");
            assert!(other.map().is_err());
            drop(own);
            drop(other);
        });
        assert_eq!(converted(kept.as_ref().unwrap(), &source), expected);
        assert!(buffers.unwrap().iter().all(|buffer| buffer.map().is_ok()));
    });
}
