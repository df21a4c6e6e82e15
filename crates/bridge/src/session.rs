//! How Zenoh is asked for what a bridge needs.

use serde::Serialize;
use serde_json::json;
use zenoh::{Config, Session, Wait};

use crate::packet::{LARGEST, LONGEST};
use crate::{BridgeBuilder, Error, Result};

/// Who has not been heard for so long is gone, in milliseconds.
const LEASE: u64 = 3_000;
/// How long the first fragment of a frame may wait for the link before the frame is dropped, and how
/// long all others together, in microseconds. Zenoh's own limit of 50 ms is less than a picture takes
/// on a slow link, which then would carry none. While a frame waits, a link that is dead is not taken
/// down, so this is also how long it takes to begin anew.
const PATIENCE: (u64, u64) = (1_000_000, 3_000_000);
/// How soon and how seldom to try to reach who is not there, in milliseconds.
const RETRY: (u64, u64) = (250, 2_000);

pub(crate) fn open(builder: &BridgeBuilder, memory: u64) -> Result<Session> {
    let BridgeBuilder { listen, connect, .. } = builder;
    // Without an address others are looked for, and can come.
    let look = listen.is_empty() && connect.is_empty();
    let mut config = Config::default();
    set(&mut config, "mode", "peer")?;
    set(&mut config, "connect/endpoints", connect)?;
    if !look {
        set(&mut config, "listen/endpoints", listen)?;
    }
    set(&mut config, "scouting/multicast/enabled", look)?;
    set(&mut config, "connect/timeout_ms", -1)?;
    set(&mut config, "connect/exit_on_failure", false)?;
    let (soon, seldom) = RETRY;
    let retry = json!({ "period_init_ms": soon, "period_max_ms": seldom });
    set(&mut config, "connect/retry", retry)?;
    set(&mut config, "transport/unicast/open_timeout", LEASE)?;
    set(&mut config, "transport/link/tx/lease", LEASE)?;
    // Zenoh puts a message together before anybody here sees it: none may be larger than all may have.
    let largest = usize::try_from(memory).unwrap_or(LARGEST).min(LARGEST);
    set(&mut config, "transport/link/rx/max_message_size", largest + LONGEST + (64 << 10))?;
    let drop = "transport/link/tx/queue/congestion_control/drop";
    set(&mut config, &format!("{drop}/wait_before_drop"), PATIENCE.0)?;
    set(&mut config, &format!("{drop}/max_wait_before_drop_fragments"), PATIENCE.1)?;
    zenoh::open(config).wait().map_err(network("opening the network"))
}

fn set(config: &mut Config, key: &str, value: impl Serialize) -> Result<()> {
    let what = network("setting up Zenoh");
    match serde_json::to_string(&value) {
        Ok(text) => config.insert_json5(key, &text).map_err(what),
        Err(cause) => Err(what(cause.into())),
    }
}

/// What to make of an answer of Zenoh.
pub(crate) fn network(what: &'static str) -> impl FnOnce(zenoh::Error) -> Error {
    move |cause| Error::Network { what, cause }
}
