//! A queue of a test device: one thread that has the bytes and does work in order, later.
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::store::Store;
use crate::device::Task;
use crate::process;

/// The device is lost.
pub(super) struct Lost;

enum Order {
    Add { id: u64, store: Arc<Store> },
    Remove { id: u64 },
    Work { number: u64, tasks: Vec<Task>, due: Instant },
}

#[derive(Default)]
struct State {
    submitted: u64,
    done: u64,
    paused: bool,
    lost: bool,
    /// The thread is in the middle of work.
    busy: bool,
    stopping: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// A running queue.
pub(super) struct Queue {
    shared: Arc<Shared>,
    orders: Mutex<Option<Sender<Order>>>,
    thread: Option<JoinHandle<()>>,
    delay: Duration,
    /// The process that has the thread: a forked one has not, and there the device is lost.
    generation: u64,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    fn sleep<'a>(
        &self,
        state: MutexGuard<'a, State>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        let forever = Duration::from_secs(3600);
        let left = until.map_or(forever, |at| at.saturating_duration_since(Instant::now()));
        self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Queue {
    pub(super) fn start(delay: Duration) -> Queue {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let (orders, received) = channel();
        let own = Arc::clone(&shared);
        let name = "tenure-test-device".to_owned();
        let thread = thread::Builder::new().name(name).spawn(move || work(&own, &received)).ok();
        // Without a thread the device is lost from the start.
        shared.change(|state| state.lost = thread.is_none());
        let generation = process::generation();
        Queue { shared, orders: Mutex::new(Some(orders)), thread, delay, generation }
    }

    fn here(&self) -> bool {
        process::generation() == self.generation
    }

    fn order(&self, order: Order) {
        if !self.here() {
            return;
        }
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(orders) = orders.as_ref() {
            let _ = orders.send(order);
        }
    }

    pub(super) fn add(&self, id: u64, store: Arc<Store>) {
        self.order(Order::Add { id, store });
    }

    pub(super) fn remove(&self, id: u64) {
        self.order(Order::Remove { id });
    }

    /// Begins work; `None` if the device is lost.
    pub(super) fn submit(&self, tasks: Vec<Task>) -> Option<u64> {
        if !self.here() {
            return None;
        }
        let mut state = self.shared.state();
        if state.lost {
            return None;
        }
        state.submitted += 1;
        let number = state.submitted;
        // Under the lock, so that work is in the order of its numbers.
        self.order(Order::Work { number, tasks, due: Instant::now() + self.delay });
        Some(number)
    }

    pub(super) fn wait(&self, number: u64, timeout: Option<Duration>) -> Result<bool, Lost> {
        if !self.here() {
            return Err(Lost);
        }
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.shared.state();
        loop {
            if state.done >= number {
                return Ok(true);
            }
            if state.lost {
                return Err(Lost);
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(false);
            }
            state = self.shared.sleep(state, until);
        }
    }

    pub(super) fn set_paused(&self, paused: bool) {
        if self.here() {
            self.shared.change(|state| state.paused = paused);
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        !self.here() || self.shared.state().lost
    }

    /// Nothing is done from now on; returns when the thread has let go of everybody's memory.
    pub(super) fn lose(&self) {
        if !self.here() {
            return;
        }
        let mut state = self.shared.state();
        // Work that has begun is finished first, before anybody is told that it is over.
        while state.busy {
            state = self.shared.sleep(state, None);
        }
        state.lost = true;
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if !self.here() {
            let orders = self.orders.get_mut().unwrap_or_else(PoisonError::into_inner);
            return std::mem::forget((orders.take(), self.thread.take()));
        }
        self.shared.change(|state| state.stopping = true);
        *self.orders.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(shared: &Shared, orders: &Receiver<Order>) {
    let mut stores = HashMap::new();
    while let Ok(order) = orders.recv() {
        match order {
            Order::Add { id, store } => drop(stores.insert(id, store)),
            Order::Remove { id } => drop(stores.remove(&id)),
            Order::Work { number, tasks, due } => {
                if !begin(shared, due) {
                    continue;
                }
                for task in &tasks {
                    // Whoever submits promises that places are inside their blocks; what is not
                    // there is left undone, for tests to see.
                    let _ = carry_out(&stores, task);
                }
                shared.change(|state| (state.busy, state.done) = (false, number));
            }
        }
    }
}

/// Waits until work may begin; says whether there is a device to do it.
fn begin(shared: &Shared, due: Instant) -> bool {
    let mut state = shared.state();
    loop {
        if state.lost || state.stopping {
            return false;
        }
        if !state.paused && due <= Instant::now() {
            state.busy = true;
            return true;
        }
        let until = Some(due).filter(|_| !state.paused);
        state = shared.sleep(state, until);
    }
}

const SCRATCH: usize = 64 << 10;

fn carry_out(stores: &HashMap<u64, Arc<Store>>, task: &Task) -> Option<()> {
    let mut scratch = [0u8; SCRATCH];
    match *task {
        Task::Copy { to, from, bytes } => {
            let (there, here) = (stores.get(&to.0)?, stores.get(&from.0)?);
            for at in (0..bytes).step_by(SCRATCH) {
                let part = scratch.get_mut(..SCRATCH.min(bytes - at))?;
                here.read(from.1 + at, part)?;
                there.write(to.1 + at, part)?;
            }
        }
        Task::Fill { to, bytes, pattern } => {
            let there = stores.get(&to.0)?;
            for (byte, value) in scratch.iter_mut().zip(pattern.into_iter().cycle()) {
                *byte = value;
            }
            for at in (0..bytes).step_by(SCRATCH) {
                there.write(to.1 + at, scratch.get(..SCRATCH.min(bytes - at))?)?;
            }
        }
    }
    Some(())
}
