//! `TENURE_PLANNER`, in a process of its own for each value.

use std::process::Command;

use tenure_plan::{MODE_VARIABLE, PlannerMode};

#[test]
fn words_are_obeyed_or_refused() {
    let ask = |value: Option<&str>| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "tell", "--ignored", "--nocapture"]).env_remove(MODE_VARIABLE);
        if let Some(value) = value {
            child.env(MODE_VARIABLE, value);
        }
        String::from_utf8(child.output().unwrap().stdout).unwrap()
    };
    assert!(ask(None).contains("mode: none"));
    assert!(ask(Some("")).contains("mode: none"));
    for mode in PlannerMode::ALL {
        for word in [&[mode.name()], mode.other_words()].concat() {
            assert!(ask(Some(word)).contains(&format!("mode: {mode}")));
        }
    }
    let refusal = ask(Some("arenas"));
    assert!(refusal.contains("\"arenas\"; there are disabled, remap and arena"), "{refusal}");
}

#[test]
#[ignore = "is run by the other test, in a process of its own"]
fn tell() {
    match PlannerMode::from_environment() {
        Ok(Some(mode)) => println!("mode: {mode}"),
        Ok(None) => println!("mode: none"),
        Err(error) => println!("error: {error}"),
    }
}
