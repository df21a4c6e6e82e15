//! A frame loop that allocates nothing after its first round.

use std::error::Error;

use tenure::memory::{Pool, kind};
use tenure::{Tensor, TensorMemory};

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Pool::new(kind::allocator(TensorMemory::Shm)?);
    for n in 0..100u8 {
        let frame =
            Tensor::<u8>::builder(&[1080, 1920, 4]).allocator(&pool).name("frame").build()?;
        frame.map()?.as_mut_slice().fill(n);
    }
    let report = pool.report();
    println!("{report}");
    assert_eq!((report.misses, report.hits), (1, 99));
    Ok(())
}
