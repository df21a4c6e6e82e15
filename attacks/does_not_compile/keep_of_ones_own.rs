//! A guard over a keeper of one's own, which lets the memory go while the guard lives.
#![forbid(unsafe_code)]

use tenure::RawBuffer;
use tenure::memory::WriteGuard;
use tenure::memory::backend::Keep;

struct LetsGo(Option<RawBuffer>);

impl Keep for LetsGo {
    fn raw(&self) -> &RawBuffer {
        self.0.as_ref().unwrap()
    }
}

fn main() {
    let guard = WriteGuard::over(LetsGo(None), 0..1);
    println!("{}", guard.is_ok());
}
