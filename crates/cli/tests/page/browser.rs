//! A real browser without a window, told what to do through a pipe.
//!
//! Chromium takes commands as JSON objects that end with a zero byte, and answers likewise; what
//! it prints to the console and what goes wrong in a page comes the same way.
#![allow(dead_code, reason = "each file of tests uses a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// An answer that takes longer will not come.
const LONGEST: Duration = Duration::from_secs(120);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    sent: u64,
    /// What went wrong in the page so far.
    pub(crate) errors: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start() -> Browser {
        let profile = tempfile::tempdir().unwrap();
        // The browser talks on descriptors 3 and 4.
        let shell = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", shell, "sh", "--headless=new", "--remote-debugging-pipe"])
            // Its sandbox wants rights that a container does not give; it shows our page only.
            .args(["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = vec![];
            while answers.read_until(0, &mut message).is_ok_and(|bytes| bytes > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let (session, sent, errors) = (None, 0, vec![]);
        let mut browser =
            Browser { child, commands, messages, session, sent, errors, _profile: profile };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.resize(1400, 900);
        browser
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect(
            "no browser: Debian's package chromium is needed; scripts/setup ci installs it",
        );
        let id = self.sent;
        let answer = self.wait(method, |message| message["id"] == id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Waits for a message, and keeps what went wrong on the way.
    fn wait(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.messages.recv_timeout(LONGEST).unwrap_or_else(|error| {
                panic!(
                    "{what}: {error}; is Debian's package chromium there? scripts/setup ci \
                     installs it"
                )
            });
            let params = &message["params"];
            let wrong = match message["method"].as_str() {
                Some("Runtime.exceptionThrown") => Some(params.to_string()),
                Some("Runtime.consoleAPICalled") => Some(params["args"].to_string()),
                Some("Log.entryAdded") => Some(params["entry"].to_string()),
                _ => None,
            };
            self.errors.extend(wrong);
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Sets the size of the window.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Whether the user likes it dark.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Opens a file and waits until it is drawn.
    pub(crate) fn open(&mut self, path: &str) {
        self.go(&format!("file://{path}"));
    }

    /// Opens an address and waits until it is drawn.
    pub(crate) fn go(&mut self, address: &str) {
        self.call("Page.navigate", json!({"url": address}));
        self.wait("loading", |message| message["method"] == "Page.loadEventFired");
        self.drawn();
    }

    /// Waits for two frames: one that was on its way, and one with all changes.
    pub(crate) fn drawn(&mut self) {
        let frames = "new Promise(done => \
            requestAnimationFrame(() => requestAnimationFrame(() => done(true))))";
        assert_eq!(self.ask(frames), true);
    }

    /// The value of an expression in the page.
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let all = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", all);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let began = std::time::Instant::now();
        while self.ask(expression) != true {
            assert!(began.elapsed() < LONGEST, "it never came: {expression}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The text of what a selector finds, each as one string.
    pub(crate) fn texts(&mut self, selector: &str) -> Vec<String> {
        let all = format!("[...document.querySelectorAll({})]", json!(selector));
        let texts = self.ask(&format!("{all}.map(element => element.textContent)"));
        serde_json::from_value(texts).unwrap()
    }

    /// Clicks at the middle of what a selector finds, as a hand would.
    pub(crate) fn click(&mut self, selector: &str) {
        let (x, y) = self.middle(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
        self.drawn();
    }

    /// Moves the pointer; with a turn of the wheel if there is one.
    pub(crate) fn point(&mut self, x: f64, y: f64, wheel: f64) {
        let kind = if wheel == 0.0 { "mouseMoved" } else { "mouseWheel" };
        let event = json!({"type": kind, "x": x, "y": y, "deltaX": 0, "deltaY": wheel});
        self.call("Input.dispatchMouseEvent", event);
        self.drawn();
    }

    /// The middle of what a selector finds.
    pub(crate) fn middle(&mut self, selector: &str) -> (f64, f64) {
        let found = format!("document.querySelector({}).getBoundingClientRect()", json!(selector));
        let x = self.ask(&format!("{found}.x + {found}.width / 2"));
        let y = self.ask(&format!("{found}.y + {found}.height / 2"));
        (x.as_f64().unwrap(), y.as_f64().unwrap())
    }

    /// Saves what is seen, for people to look at.
    pub(crate) fn picture(&mut self, name: &str) {
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
        std::fs::create_dir_all(&folder).unwrap();
        let bytes = base64(picture["data"].as_str().unwrap());
        assert!(bytes.starts_with(b"\x89PNG"), "{name} is a picture");
        std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (vec![], 0u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
