//! A frame loop that allocates nothing after its first round.

use std::error::Error;

use tenure::{Pool, Tensor, TensorMemory};

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Pool::new(TensorMemory::Shm);
    for n in 0..100u8 {
        // The frame is written whole, so that nobody has to make its old bytes zero.
        let frame = Tensor::<u8>::builder(&[1080, 1920, 4])
            .pool(&pool)
            .name("frame")
            .without_zeroing()
            .build()?;
        frame.map()?.as_mut_slice().fill(n);
    }
    let report = pool.report();
    println!("{report}");
    assert_eq!((report.misses, report.hits), (1, 99));
    Ok(())
}
