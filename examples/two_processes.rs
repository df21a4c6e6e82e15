//! One tensor in two processes: sent by descriptor, as a sealed file of memory, mapped read-only.

use std::error::Error;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use tenure::memory::share;
use tenure::{Sharing, Tensor, TensorMemory, receive, send};

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(socket) => consumer(Path::new(&socket)),
        None => producer(),
    }
}

fn producer() -> Result<(), Box<dyn Error>> {
    let socket = std::env::temp_dir().join(format!("tenure-example-{}", std::process::id()));
    let listener = UnixListener::bind(&socket)?;
    let mut child = Command::new(std::env::current_exe()?).arg(&socket).spawn()?;
    let (connection, _) = listener.accept()?;
    std::fs::remove_file(&socket)?;
    println!("consumer is process {}", share::peer(&connection)?.pid);

    let frame = Tensor::<u8>::new(&[1080, 1920, 4], Some(TensorMemory::Shm), Some("frame"))?;
    frame.fill(7)?;
    send(&connection, &frame, Sharing::ReadOnly)?;
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(format!("the consumer ended with {status}").into()) }
}

fn consumer(socket: &Path) -> Result<(), Box<dyn Error>> {
    let frame = receive(UnixStream::connect(socket)?)?;
    let sum: u64 = frame.map_read()?.as_slice().iter().map(|&byte| u64::from(byte)).sum();
    println!("got {:?} {:?}, sum {sum}, without a copy", frame.name(), frame.shape());
    println!("writing: {}", frame.map().map(|_| ()).unwrap_err());
    assert_eq!(sum, 7 * 1080 * 1920 * 4);
    Ok(())
}
