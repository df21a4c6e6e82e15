//! No language tells the calls of another.

use std::collections::HashSet;

use super::{Clause, Language, Remedy};

const ALL: [Remedy; 34] = [
    Remedy::CopyToMain,
    Remedy::OpenDevice { backend: "cuda", number: 3 },
    Remedy::OpenAnyDevice,
    Remedy::OpenFile,
    Remedy::MapForReading,
    Remedy::CloneDescriptor,
    Remedy::UseDynamic,
    Remedy::MapOtherwise { rows: true, whole: true },
    Remedy::MapOtherwise { rows: true, whole: false },
    Remedy::MapOtherwise { rows: false, whole: true },
    Remedy::MapOtherwise { rows: false, whole: false },
    Remedy::MapRows,
    Remedy::SetFormat,
    Remedy::TakeOneImage,
    Remedy::UseImageItself,
    Remedy::MapPlanes,
    Remedy::AskVersionedDlpack,
    Remedy::SetColour,
    Remedy::GiveQuantization,
    Remedy::OpenRaw,
    Remedy::LoadTensor,
    Remedy::ListCameras,
    Remedy::ResumeCamera,
    Remedy::CaptureContiguous,
    Remedy::TrustProducer { uid: 1000 },
    Remedy::DropFrames,
    Remedy::RaiseLimits,
    Remedy::LetFramesDiffer,
    Remedy::PublishSlots,
    Remedy::TryAgainOrMoreSlots,
    Remedy::DescribeFrames,
    Remedy::AllowVideoMeta,
    Remedy::GiveDimensions,
    Remedy::RaiseBridgeMemory,
];

/// Names directly before an opening bracket.
fn calls(text: &str) -> Vec<&str> {
    let name = |c: char| c.is_ascii_alphanumeric() || "_:.".contains(c);
    let before = |at: usize| &text[text[..at].rfind(|c| !name(c)).map_or(0, |i| i + 1)..at];
    text.match_indices('(').map(|(at, _)| before(at)).filter(|call| !call.is_empty()).collect()
}

#[test]
fn the_list_has_every_remedy() {
    let source = include_str!("../remedy.rs");
    let body = source.split("pub enum Remedy {").nth(1).unwrap().split("\n}").next().unwrap();
    let variants = body.lines().filter(|line| {
        line.strip_prefix("    ").is_some_and(|line| line.starts_with(char::is_uppercase))
    });
    let listed: HashSet<_> = ALL.iter().map(std::mem::discriminant).collect();
    assert_eq!(variants.count(), listed.len());
}

#[test]
fn no_text_has_a_call_of_another_language() {
    for remedy in ALL {
        let rust = remedy.words(Language::Rust);
        assert!(!rust.is_empty(), "{remedy:?}");
        assert!(!rust.contains("tenure_") && !rust.contains("tenure."), "{rust}");

        let c = remedy.words(Language::C);
        assert!(!c.contains("::") && !c.contains("tenure."), "{c}");
        assert!(calls(&c).iter().all(|call| call.starts_with("tenure_")), "{c}");

        let python = remedy.words(Language::Python);
        assert!(!python.contains("::") && !python.contains("tenure_"), "{python}");
        assert!(!python.contains("TENURE_") && !python.contains("Some("), "{python}");

        let command = remedy.words(Language::Command);
        assert!(!command.contains("::") && !command.contains("tenure_"), "{command}");
        assert_eq!(calls(&command), [""; 0], "{command}");

        assert_eq!(remedy.words(Language::Plain), "");
    }
}

#[test]
fn the_language_ends_with_its_scope() {
    let say = || Remedy::SetFormat.clause().to_string();
    assert_eq!(say(), ": call set_format() first");
    let (inner, outer) = Language::C.during(|| (Language::Python.during(say), say()));
    assert_eq!(inner, ": take with_format() of it first");
    assert_eq!(outer, ": call tenure_tensor_set_format() first");
    let _ = std::panic::catch_unwind(|| Language::C.during(|| panic!("on purpose")));
    assert_eq!(say(), ": call set_format() first");
    assert_eq!(Language::Plain.say(&Remedy::SetFormat.clause()), "");
    assert_eq!(Clause::from(None).to_string(), "");
}
