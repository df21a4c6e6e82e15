//! All streams, each asked about itself: all at one time, so that a producer that does not answer
//! keeps nobody waiting for the others.

use std::thread;
use std::time::Duration;

use tenure::stream::{self, Error, Listed, StreamReport};

/// Asked at one time.
const AT_ONCE: usize = 64;

/// A stream and what it says; nothing if nobody publishes it.
pub(crate) type Asked = (Listed, Option<Result<StreamReport, Error>>);

/// The streams that there are, and what those that are alive say within this time.
pub(crate) fn ask_all(within: Duration) -> Result<Vec<Asked>, Error> {
    let listed = stream::list()?;
    let mut answers = vec![];
    for some in listed.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let ask = |one: &Listed| {
                let name = one.name.clone();
                let work = move || stream::stat_within(&name, within);
                one.alive.then(|| thread::Builder::new().spawn_scoped(scope, work))
            };
            let asked: Vec<_> = some.iter().map(ask).collect();
            for (one, asked) in some.iter().zip(asked) {
                let answer = asked.map(|thread| match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|_| ended(&one.name)),
                    // No thread to be had: one after the other, then.
                    Err(_) => stream::stat_within(&one.name, within),
                });
                answers.push((one.clone(), answer));
            }
        });
    }
    Ok(answers)
}

fn ended(name: &str) -> Result<StreamReport, Error> {
    Err(Error::from(tenure::stream::detail::Ended { name: name.to_owned(), dead: true }))
}
