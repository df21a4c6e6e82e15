//! The page: style, script and data in one file that loads nothing.

use super::Drawing;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The marks in the page are put in order of trust: data last, so that a name that looks like a
/// mark is not taken for one.
pub(super) fn html(drawing: &Drawing) -> String {
    let page = PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT);
    let (before, after) = page.split_once("/*DATA*/").unwrap_or((&page, ""));
    // Plain data of numbers and strings has nothing that cannot be written.
    let data = serde_json::to_string(drawing).unwrap_or_default();
    // No name may end the script element or open a comment in it.
    let data = data.replace('<', "\\u003c");
    let mut out = String::with_capacity(before.len() + data.len() + after.len());
    out.push_str(before);
    out.push_str(&data);
    out.push_str(after);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{DrawnPlan, Tenant};

    #[test]
    fn names_cannot_leave_their_string() {
        let mut plan = DrawnPlan { label: "arena best".into(), bytes: 64, ..Default::default() };
        plan.add_arena("device 0 compute".into(), 64);
        plan.add_tenant(Tenant { buffer: 0, arena: 0, lower: 0, upper: 1, size: 64, offset: 0 });
        let names = vec!["</script><script>alert(1)</script> <!-- /*DATA*/ \" \\ \u{2028}".into()];
        let drawing = Drawing { names, plans: vec![plan], last: 1, ..Default::default() };
        let page = drawing.html();
        assert_eq!(page.matches("</script>").count(), PAGE.matches("</script>").count());
        assert!(!page.contains("<!--") && !page.contains("alert(1)</"));
        let data =
            page.split_once("application/json\">").unwrap().1.split_once("</script>").unwrap().0;
        let back: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(back["names"][0], drawing.names[0].as_str());
        assert_eq!(back["plans"][0]["base"], serde_json::json!([0]));
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = Drawing::default().html();
        for word in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(!page.contains("/*STYLE*/") && !page.contains("/*SCRIPT*/"));
    }
}
