//! The page of `tenure plan --html` in a real browser. Pictures of it are left in the folder `page`
//! under the temporary folder of the build.
#![cfg(target_os = "linux")]

#[path = "page/browser.rs"]
mod browser;
mod common;

use std::fmt::Write;
use std::fs;

use browser::Browser;
use common::{model, run, with_file};

/// `relu` may be written over `conv`: together they are 4096 bytes at their step, not 8192.
const IN_PLACE: &str = r#"{"buffers": [
    {"name": "x", "bytes": 1024, "input": true},
    {"name": "conv", "bytes": 4096},
    {"name": "relu", "bytes": 4096, "in_place": [1]},
    {"name": "sum", "bytes": 512},
    {"name": "y", "bytes": 512, "output": true}],
  "steps": [
    {"name": "convolve", "reads": [0], "writes": [1]},
    {"name": "activate", "reads": [1], "writes": [2]},
    {"name": "add up", "reads": [2], "writes": [3]},
    {"name": "end", "reads": [3], "writes": [4]}]}"#;

/// The page of a file.
fn page(folder: &tempfile::TempDir, arguments: &[&str]) -> String {
    let path = folder.path().join("plan.html").to_str().unwrap().to_owned();
    let (_, errors, code) = run(&[&["plan"], arguments, &["--html", &path]].concat());
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    path
}

#[test]
#[ignore = "needs the browser chromium: scripts/ci page"]
fn plans_are_shown_switched_and_compared() {
    let (folder, file) = with_file("net.json", IN_PLACE);
    let page = page(&folder, &[&file]);
    let mut browser = Browser::start();
    browser.open(&page);
    assert_eq!(browser.texts("h1"), ["net.json"]);
    let plans = browser.texts("nav button");
    let labels = ["disabled", "remap", "arena tlsf", "arena best-fit", "arena greedy-size"];
    for (label, button) in labels.iter().zip(&plans) {
        assert!(button.starts_with(label), "{button}");
    }
    assert!(plans[5].starts_with("arena best 4.50 KiB") && plans[5].ends_with('★'), "{plans:?}");
    // What is in place of something else is counted once.
    let summary = browser.texts(".map p");
    assert_eq!(
        summary,
        ["arena best 4.50 KiB (4,608 bytes), proven minimal; peak 4,608 at add up; 3 of 3 in view"]
    );
    let largest = browser.texts("#tenants .name");
    assert_eq!(largest, ["relu", "sum"]);
    browser.picture("in-place");

    browser.click("nav button:nth-child(1)");
    let summary = browser.texts(".map p");
    assert!(summary[0].starts_with("disabled 8.50 KiB"), "{summary:?}");
    browser.click("#beside");
    let summary = browser.texts(".map p");
    assert_eq!(summary.len(), 2);
    assert!(summary.iter().all(|line| line.ends_with("3 of 3 in view")), "{summary:?}");
    // The plan that was looked at last, beside this one.
    assert!(summary[0].starts_with("disabled") && summary[1].starts_with("arena best"));
    browser.picture("side-by-side");
    browser.click("#beside");
    assert_eq!(browser.texts(".map p").len(), 1);

    // The pointer tells what is under it.
    let (x, y) = browser.middle("canvas");
    browser.point(x, y, 0.0);
    let tip = browser.texts("#tip");
    assert!(["conv", "relu", "sum"].iter().any(|name| tip[0].starts_with(name)), "{tip:?}");
    assert!(
        ["size 4.00 KiB (4,096)", "alive ", "2 steps", "offset 0"]
            .iter()
            .all(|word| tip[0].contains(word)),
        "{tip:?}"
    );
    // The wheel goes nearer, the button back.
    browser.point(x, y, -2000.0);
    let near = browser.texts(".count");
    assert_ne!(near, ["3 of 3 in view"]);
    browser.click("#whole");
    assert_eq!(browser.texts(".count"), ["3 of 3 in view"]);
    assert_eq!(browser.errors, [""; 0]);
}

#[test]
#[ignore = "needs the browser chromium: scripts/ci page"]
fn light_and_dark_follow_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(&folder, &[&model("small_cnn.onnx"), "--dim", "batch=8"]);
    let mut browser = Browser::start();
    let ground = "getComputedStyle(document.body).backgroundColor";
    let ink = "getComputedStyle(document.body).color";
    // The brightness of the middle of the map, which follows too.
    let map = "[...document.querySelector('canvas').getContext('2d')\
        .getImageData(300, 300, 1, 1).data].slice(0, 3).reduce((sum, part) => sum + part)";
    let mut seen = vec![];
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        browser.open(&page);
        browser.picture(scheme);
        seen.push([ground, ink, map].map(|what| browser.ask(what)));
    }
    let [light, dark] = [&seen[0], &seen[1]];
    assert_eq!((&light[0], &dark[0]), (&"rgb(251, 251, 250)".into(), &"rgb(22, 23, 24)".into()));
    assert_ne!(light[1], dark[1]);
    assert!(light[2].as_f64() > dark[2].as_f64(), "{light:?} {dark:?}");
    // The button overrides the preference, and a change of it while the page is open is followed.
    browser.click("#theme");
    assert_eq!(browser.ask(ground), light[0]);
    browser.click("#theme");
    assert_eq!(browser.ask(ground), dark[0]);
    browser.resize(700, 900);
    browser.drawn();
    browser.picture("narrow");
    let fits = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(browser.ask(fits), true);
    assert_eq!(browser.errors, [""; 0]);
}

#[test]
#[ignore = "needs the browser chromium: scripts/ci page"]
fn nothing_and_strange_names_are_shown_too() {
    let mut browser = Browser::start();
    let (folder, file) = with_file("none.csv", "id,lower,upper,size\n");
    browser.open(&page(&folder, &[&file]));
    assert_eq!(browser.texts(".count"), ["0 of 0 in view"]);
    let name = "</script><script>document.title = 'taken'</script><b>&amp;";
    let buffers = serde_json::json!([{"name": name, "bytes": 4096}, {"name": "b", "bytes": 256}]);
    let steps = serde_json::json!([{"name": name, "writes": [0, 1]}]);
    let schedule = serde_json::json!({"buffers": buffers, "steps": steps}).to_string();
    let (folder, file) = with_file("strange.json", &schedule);
    browser.open(&page(&folder, &[&file, "--pool", "SRAM=1K", "--pool", "DRAM"]));
    assert_eq!(browser.texts("title"), ["strange.json"]);
    assert_eq!(browser.texts("#tenants .name"), [name, "b"]);
    // A word that is looked for dims the others.
    browser.ask("byId('find').value = 'B'; byId('find').dispatchEvent(new Event('input'))");
    browser.drawn();
    assert_eq!(browser.ask("[...found]"), serde_json::json!([0, 1]), "both have a b");
    browser.picture("pools");
    assert_eq!(browser.errors, [""; 0]);
}

#[test]
#[ignore = "needs the browser chromium: scripts/ci page"]
fn a_hundred_thousand_buffers_are_no_burden() {
    const COUNT: u64 = 100_000;
    let mut text = "id,lower,upper,size\n".to_owned();
    for index in 0..COUNT {
        // Some numbers that look like chance.
        let mix = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let (lower, life, size) = (index / 4, 1 + mix % 60, 64 * (1 + mix % 200));
        writeln!(text, "t{index},{lower},{},{size}", lower + life).unwrap();
    }
    let (folder, file) = with_file("many.csv", &text);
    // Every mode and packer; the search would go on for long.
    let page = page(&folder, &[&file, "--time", "1"]);
    assert!(fs::metadata(&page).unwrap().len() < 20 << 20);
    let mut browser = Browser::start();
    browser.open(&page);
    assert_eq!(browser.texts(".count"), ["100,000 of 100,000 in view"]);
    browser.picture("many");
    // A piece of memory for each.
    browser.click("nav button:nth-child(1)");
    assert!(browser.texts(".map p")[0].ends_with("100,000 of 100,000 in view"));
    browser.click("nav button:nth-child(6)");
    let (x, y) = browser.middle("canvas");
    for _ in 0..3 {
        browser.point(x, y, -800.0);
    }
    let near = browser.texts(".count")[0].clone();
    assert!(near.ends_with(" of 100,000 in view") && !near.starts_with("100,000"), "{near}");
    browser.picture("many-near");
    assert_eq!(browser.errors, [""; 0]);
    // Drawing all of them is not many times what so many plain rectangles would be. (Reading the
    // pixels makes the browser finish them; it warns that this is slow.)
    let ratio = "(() => {
        document.querySelector('#whole').click();
        const time = work => { const from = performance.now(); work(); return performance.now() - from; };
        const canvas = document.createElement('canvas');
        Object.assign(canvas, { width: 1000, height: 700 });
        const pen = canvas.getContext('2d');
        const plain = () => {
            for (let i = 0; i < 100000; i++) {
                pen.fillStyle = `hsl(${i % 360} 52% 68% / 1)`;
                pen.fillRect(i / 100, i % 700, 3, 3);
            }
            pen.getImageData(0, 0, 1, 1);
        };
        const ours = () => {
            maps.forEach(draw);
            maps[0].canvas.getContext('2d').getImageData(0, 0, 1, 1);
        };
        plain(); ours();
        return Math.min(time(ours), time(ours)) / Math.min(time(plain), time(plain));
    })()";
    let ratio = browser.ask(ratio).as_f64().unwrap();
    assert!(ratio < 20.0, "a frame takes {ratio} times as long as plain rectangles");
}
