//! The cases: every conversion in every engine with every number of threads, and its limit.

use std::hint::black_box;
use std::rc::Rc;

use tenure::image::{EngineKind, ImageProcessor};
use tenure::{Tensor, TensorDyn, TensorMemory};

use super::work::Work;
use crate::bench::clock;
use crate::bench::rounds::Case;
use crate::convert::Problem;
use crate::failure::Failure;

/// Frames that are used in turn.
const FRAMES: usize = 4;

/// Who does a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Nobody: a memcpy that touches as many bytes.
    Limit,
    /// An engine with so many threads.
    Engine(EngineKind, usize),
}

/// A conversion by its name, and who does it.
pub(super) type Key = (&'static str, Who);

/// What cannot be measured, and why.
pub(super) type Refused = (Key, String);

/// All cases, and what there are none for.
pub(super) fn all(
    works: &[&'static Work],
    engines: &[EngineKind],
    threads: &[usize],
) -> Result<(Vec<Case<Key>>, Vec<Refused>), Failure> {
    let (mut cases, mut refused) = (vec![], vec![]);
    for work in works {
        let frames: Vec<TensorDyn> =
            (1..).take(FRAMES).map(|seed| work.frame(seed)).collect::<Result<_, _>>()?;
        let frames = Rc::new(frames);
        cases.push(limit(work, &frames)?);
        for &engine in engines {
            // The reference has one thread, whatever is asked for.
            let one = &[1][..];
            let threads = if engine == EngineKind::Reference { one } else { threads };
            for &threads in threads {
                let key = (work.name, Who::Engine(engine, threads));
                match case(key, work, &frames, engine, threads)? {
                    Ok(case) => cases.push(case),
                    Err(reason) => refused.push((key, reason)),
                }
            }
        }
    }
    Ok((cases, refused))
}

fn case(
    key: Key,
    work: &Work,
    frames: &Rc<Vec<TensorDyn>>,
    engine: EngineKind,
    threads: usize,
) -> Result<Result<Case<Key>, String>, Failure> {
    let config = ImageProcessor::builder().engines(vec![engine]).threads(threads);
    let processor = match config.build() {
        Ok(processor) => processor,
        Err(reason) => return Ok(Err(reason.to_string())),
    };
    let (input, convert) = (work.input()?, work.convert());
    let (frames, mut next) = (Rc::clone(frames), 0);
    let refused = frames.first().map(|frame| processor.explain(frame, &input, &convert));
    if let Some(Ok([only])) = refused.as_ref().map(|said| said.as_deref())
        && let Err(reason) = &only.verdict
    {
        return Ok(Err(reason.clone()));
    }
    let mut work = move |batch: u32| {
        for _ in 0..batch {
            if let Some(frame) = frames.get(next) {
                processor.convert(frame, &input, &convert).map_err(Problem::from)?;
            }
            next = (next + 1) % FRAMES;
        }
        Ok(())
    };
    Ok(Ok(if engine == EngineKind::Reference {
        // Once is long enough.
        Case::fixed(key, 1, move |batch| clock::time(|| work(batch)))
    } else if threads == 1 {
        // An engine may have a thread of its own.
        Case::new(key, move |batch| clock::program(|| work(batch)))
    } else {
        Case::new(key, move |batch| clock::wall(|| work(batch)))
    }))
}

/// A memcpy of half of the bytes, which reads and writes all of them once.
fn limit(work: &Work, frames: &Rc<Vec<TensorDyn>>) -> Result<Case<Key>, Failure> {
    let bytes = frames.first().map_or(0, TensorDyn::size_bytes) + work.input()?.size_bytes();
    let buffer = || -> Result<Tensor<u8>, Failure> {
        let buffer =
            Tensor::<u8>::new(&[bytes / 2], Some(TensorMemory::Mem), Some("tenure-bench"))?;
        buffer.map()?.as_mut_slice().fill(1);
        Ok(buffer)
    };
    let from: Vec<Tensor<u8>> = (0..FRAMES).map(|_| buffer()).collect::<Result<_, _>>()?;
    let (to, mut next) = (buffer()?, 0);
    Ok(Case::new((work.name, Who::Limit), move |batch| {
        let mut to = to.map()?;
        clock::time(|| {
            for _ in 0..batch {
                if let Some(from) = from.get(next) {
                    let from = from.map_read()?;
                    black_box(to.as_mut_slice()).copy_from_slice(black_box(from.as_slice()));
                }
                next = (next + 1) % FRAMES;
            }
            Ok(())
        })
    }))
}
