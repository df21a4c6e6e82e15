//! Browsers that are connected, and who has to go when there are too many.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All connections, oldest first.
#[derive(Debug)]
pub(super) struct Connections {
    open: Mutex<Vec<Arc<Connection>>>,
    most: usize,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// It has shown the secret.
    trusted: AtomicBool,
}

/// A connection that counts until this is dropped, whatever ends it.
#[derive(Debug)]
pub(super) struct Entered {
    all: Arc<Connections>,
    connection: Arc<Connection>,
}

impl Connections {
    /// At most so many at one time.
    pub(super) fn new(most: usize) -> Arc<Connections> {
        Arc::new(Connections { open: Mutex::default(), most })
    }

    /// Takes one in. If there are too many, the oldest that has not shown the secret goes: anybody
    /// on this machine can connect and say nothing. `None` if all have shown it.
    pub(super) fn enter(self: &Arc<Connections>, stream: TcpStream) -> Option<Entered> {
        let mut open = self.lock();
        if open.len() >= self.most {
            let stranger = open.iter().position(|it| !it.trusted.load(Ordering::Relaxed))?;
            // Its thread sees the end.
            let _ = open.remove(stranger).stream.shutdown(Shutdown::Both);
        }
        let connection = Arc::new(Connection { stream, trusted: AtomicBool::new(false) });
        open.push(Arc::clone(&connection));
        Some(Entered { all: Arc::clone(self), connection })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// It knows the secret.
    pub(super) fn trust(&self) {
        self.trusted.store(true, Ordering::Relaxed);
    }
}

impl Entered {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.all.lock().retain(|it| !Arc::ptr_eq(it, &self.connection));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn strangers_go_before_those_who_know_the_secret() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = || {
            let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (listener.accept().unwrap().0, other)
        };
        let all = Connections::new(2);
        let ((one, _a), (two, _b), (three, _c), (four, _d)) =
            (stream(), stream(), stream(), stream());
        let one = all.enter(one).unwrap();
        one.connection().trust();
        let two = all.enter(two).unwrap();
        let three = all.enter(three).unwrap();
        assert_eq!(all.lock().len(), 2);
        assert!(Arc::ptr_eq(&all.lock()[0], &one.connection));
        three.connection().trust();
        assert!(all.enter(four).is_none());
        // One that was put out already takes nobody else's place.
        drop(two);
        assert_eq!(all.lock().len(), 2);
        drop((one, three));
        assert!(all.lock().is_empty());
    }
}
