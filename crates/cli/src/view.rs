//! `tenure view`, and `--view` of `tenure run`: a page for browsers of this machine that shows every
//! stream as it goes.
//!
//! It is an ordinary consumer of the streams. `serve` answers browsers, in the few words of HTTP that
//! `http` knows and for those alone that have the `token`; `watch` keeps the newest frame of a
//! stream that somebody looks at, `picture` makes something to look at of it; `page.*` is the page.

mod connections;
mod elements;
mod http;
mod picture;
mod serve;
mod token;
mod watch;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use crate::capture::seconds;
use crate::failure::Failure;
use crate::output;
use crate::page::for_people;
use crate::stop::Stop;
use token::Token;

/// What `tenure view` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The port of the page [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// End after so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,
}

/// What `tenure help view` begins with.
pub(crate) const ABOUT: &str = "\
Show all streams on a page for browsers of this machine.

It prints the address of the page and serves it until Ctrl-C: the live picture
of every stream of images, other tensors as heat maps, values, rates, consumers,
slots, and memory over time. Only this machine can connect, and only whoever has
the address with its secret end.";

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The port cannot be had.
    #[error(
        "port {port} of 127.0.0.1 cannot be had: {}; leave it out, and any that is free is taken",
        for_people(&cause.to_string())
    )]
    Port {
        /// The port.
        port: u16,
        /// The system's answer.
        cause: io::Error,
    },
    /// No secret, or no thread.
    #[error("the page cannot be served: {}", for_people(&.0.to_string()))]
    System(#[from] io::Error),
}

/// A page that is served, by threads of its own.
#[derive(Debug)]
pub(crate) struct Viewer {
    address: SocketAddr,
    token: Token,
}

impl Viewer {
    /// Serves the page until it is over.
    pub(crate) fn start(port: u16, stop: &Stop) -> Result<Viewer, Problem> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .map_err(|cause| Problem::Port { port, cause })?;
        let (address, token) = (listener.local_addr()?, Token::new()?);
        serve::start(listener, token.clone(), stop.clone())?;
        Ok(Viewer { address, token })
    }

    /// Where the page is. What follows the hash is the secret: browsers keep it to themselves.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/#{}", self.address, self.token.word())
    }
}

/// Serves the page, and tells where.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let stop = Stop::new(options.seconds);
    let viewer = Viewer::start(options.port, &stop)?;
    output::text(&format!("look at it: {}\n", viewer.address()))?;
    while stop.sleep_until(Instant::now() + Duration::from_secs(1)) {}
    Ok(())
}
