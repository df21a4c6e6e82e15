//! What counts as unsafe, and what only looks like it.

use super::*;

fn kinds(text: &str) -> Vec<Kind> {
    Source::new(text).uses().into_iter().map(|usage| usage.kind).collect()
}

fn code(text: &str) -> String {
    Source::new(text).code.into_iter().collect()
}

#[test]
fn every_kind_is_seen() {
    assert_eq!(kinds("fn f() { unsafe { g() } }"), [Kind::Block]);
    assert_eq!(kinds("let x = unsafe{ g() };"), [Kind::Block]);
    assert_eq!(kinds("unsafe impl Send for A {}"), [Kind::Impl]);
    let declarations = [
        "pub unsafe fn f() {}",
        "pub unsafe extern \"C\" fn f() {}",
        "unsafe trait T {}",
        "unsafe extern \"C\" {}",
        "#[unsafe(no_mangle)] fn f() {}",
    ];
    for text in declarations {
        assert_eq!(kinds(text), [Kind::Declaration], "{text}");
    }
}

#[test]
fn what_is_not_code_is_not_seen() {
    let texts = [
        "// unsafe { }",
        "/// unsafe { }",
        "/* unsafe { } /* unsafe { } */ unsafe { } */",
        "let s = \"unsafe { }\";",
        "let s = \"\\\" unsafe { }\";",
        "let s = r#\"\" unsafe { }\"#;",
        "let s = br\"unsafe { }\\\";",
        "#![forbid(unsafe_code)]",
        "fn r#unsafe_too() {}",
        "type F = unsafe fn(u8);",
        "type F = for<'a> unsafe extern \"C\" fn(&'a u8);",
    ];
    for text in texts {
        assert_eq!(kinds(text), [], "{text}");
    }
}

#[test]
fn quotes_do_not_hide_code() {
    let texts = [
        "let q = '\"'; unsafe { f(\"\") }",
        "let q = '\\''; unsafe { f() }",
        "let q = '\\u{1F600}'; unsafe { f() }",
        "let q = b'\"'; unsafe { f() }",
        "fn f<'a>(x: &'a str) -> &'a str { unsafe { g(x) } }",
        "let var = \"a\"; unsafe { f() }",
        "let s = \"// \"; unsafe { f() }",
        "let s = r\"\\\"; unsafe { f() }",
        "let s = r##\" \"# \"##; unsafe { f() }",
    ];
    for text in texts {
        assert_eq!(kinds(text), [Kind::Block], "{text}");
    }
}

#[test]
fn lengths_and_lines_stay() {
    let text = "a /* é\n\n */ \"x\ny\" // z\nunsafe {}";
    assert_eq!(code(text).chars().count(), text.chars().count());
    assert_eq!(Source::new(text).uses(), [Use { kind: Kind::Block, line: 5 }]);
}

#[test]
fn what_does_not_end_is_read_to_the_end() {
    for text in ["\"", "\"\\", "'\\", "r#\"", "/*", "/* /* */", "'", "r", "br", "//", "unsafe"] {
        assert_eq!(code(text).chars().count(), text.chars().count(), "{text}");
        Source::new(text).uses();
        assert_eq!(Source::new(text).reason(), None);
    }
}

#[test]
fn the_reason_is_read_at_the_head_only() {
    let reason = |text: &str| Source::new(text).reason();
    let plain = "//! Doc.\n\n#![expect(unsafe_code, reason = \"talks to [C]\")]\nfn f() {}";
    assert_eq!(reason(plain).as_deref(), Some("talks to [C]"));
    let second = "#![no_std]\n#![expect(clippy::x, unsafe_code, reason = \"a \\\n   b\")]";
    assert_eq!(reason(second).as_deref(), Some("a b"));
    assert_eq!(reason("fn f() {}\nmod m { #![expect(unsafe_code, reason = \"r\")] }"), None);
    assert_eq!(reason("#[expect(unsafe_code, reason = \"r\")]\nfn f() {}"), None);
    assert_eq!(reason("#![expect(unsafe_code)]"), None);
    assert_eq!(reason("#![allow(unsafe_code, reason = \"r\")]"), None);
    assert_eq!(reason("#![expect(unsafe_code, reason = \" \")]"), None);
}

#[test]
fn a_long_safety_comment_counts_from_its_end() {
    let text = "// SAFETY: one\n// two\n// three\n// four\n// five\n// six\n// seven\nunsafe {}";
    assert!(Source::new(text).has_safety_comment(8, 5));
    assert!(!Source::new("// SAFETY: one\n\n\n\n\n\nunsafe {}").has_safety_comment(7, 5));
    assert!(!Source::new("\"// SAFETY: one\";\nunsafe {}").has_safety_comment(2, 5));
}
