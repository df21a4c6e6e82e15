//! What is shown while cameras run: on a terminal one line for each, written over and over; in a
//! pipe a line now and then.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::figures::{Counted, Figures};
use crate::{output, units};

/// How often lines are written over.
const OFTEN: Duration = Duration::from_millis(250);
/// How often a pipe gets lines.
const SELDOM: Duration = Duration::from_secs(1);
/// How often to look whether all cameras have ended.
const LOOK: Duration = Duration::from_millis(20);

/// Shows the cameras until all have ended.
pub(super) fn show(cameras: &[Arc<Figures>], json: bool, view: Option<String>) {
    let dumb = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
    let watched = !dumb && stderr().is_terminal();
    let mut screen = Screen { watched, lines: 0 };
    let mut before: Vec<Option<Before>> = vec![None; cameras.len()];
    let mut announced = vec![false; cameras.len()];
    let interval = if watched { OFTEN } else { SELDOM };
    let mut next = Instant::now() + interval;
    if let Some(address) = view {
        let line = format!("look at it: {address}");
        if json && !watched {
            // The output is for the JSON alone.
            let _ = writeln!(stderr(), "{line}");
        } else {
            screen.say(json, &line);
        }
    }
    loop {
        let over = cameras.iter().all(|camera| camera.has_ended());
        for (camera, announced) in cameras.iter().zip(&mut announced) {
            let source = camera.source().filter(|_| !*announced);
            if let Some(source) = source {
                *announced = true;
                screen.say(json, &format!("{}: {source}", camera.name));
            }
        }
        if over {
            screen.clear();
            return;
        }
        if Instant::now() >= next {
            next += interval;
            let lines: Vec<String> = cameras
                .iter()
                .zip(&mut before)
                .filter_map(|(camera, before)| line(camera, before))
                .collect();
            screen.show(json, &lines);
        }
        thread::sleep(LOOK.min(next.saturating_duration_since(Instant::now())));
    }
}

/// Frames at some moment, to tell how many came since.
#[derive(Debug, Clone, Copy)]
struct Before {
    frames: u64,
    at: Instant,
}

fn line(camera: &Figures, before: &mut Option<Before>) -> Option<String> {
    let counted = camera.look();
    counted.source.as_ref()?;
    let now = Before { frames: counted.frames, at: Instant::now() };
    let then = before.replace(now).unwrap_or(Before { frames: 0, at: counted.began });
    let seconds = now.at.saturating_duration_since(then.at).as_secs_f64();
    let fps = if seconds > 0.0 { (now.frames - then.frames) as f64 / seconds } else { 0.0 };
    Some(format!("{}  {}", camera.name, words(&counted, fps)))
}

/// The figures of a moment.
fn words(counted: &Counted, fps: f64) -> String {
    let time = |time: Option<Duration>| match time {
        Some(time) => units::time(time.as_nanos() as f64),
        None => "-".to_owned(),
    };
    let recent = &counted.recent;
    let consumers = counted.consumers();
    let mut words = format!(
        "{fps:.1} fps  lag {} (99%: {})  {}  {} copies  {consumers} consumer{}  {} dropped",
        time(recent.percentile(50.0)),
        time(recent.percentile(99.0)),
        counted.memory.unwrap_or("-"),
        number(counted.copies_per_frame()),
        if consumers == 1 { "" } else { "s" },
        counted.dropped(),
    );
    if counted.missed > 0 {
        words += &format!("  {} missed", counted.missed);
    }
    words
}

/// A number without zeros after the point.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Where lines go.
struct Screen {
    watched: bool,
    /// Lines that are shown now.
    lines: usize,
}

impl Screen {
    /// A line that stays.
    fn say(&mut self, json: bool, line: &str) {
        self.clear();
        if self.watched {
            let _ = writeln!(stderr(), "{line}");
        } else if !json {
            // A reader that went away does not keep the frames from their consumers.
            let _ = output::text(&format!("{line}\n"));
        }
    }

    /// Lines in place of those before; in a pipe after them.
    fn show(&mut self, json: bool, lines: &[String]) {
        if !self.watched {
            lines.iter().for_each(|line| self.say(json, line));
            return;
        }
        self.clear();
        let width = output::error_width().saturating_sub(1);
        let cut = |line: &String| line.chars().take(width).collect::<String>();
        let text: Vec<String> = lines.iter().map(cut).collect();
        let _ = write!(stderr(), "{}", text.join("\n"));
        self.lines = text.len();
    }

    fn clear(&mut self) {
        if self.lines > 0 {
            let up = "\x1b[A\x1b[2K".repeat(self.lines - 1);
            let _ = write!(stderr(), "\r\x1b[2K{up}");
            self.lines = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(1.0), "1");
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(10.0), "10");
    }
}
