//! The page: style, script and data in one file that loads nothing.

use serde::Serialize;

use super::{Drawing, DrawnArena, DrawnPlan};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The marks in the page are put in order of trust: data last, so that a name that looks like a
/// mark is not taken for one.
pub(super) fn html(drawing: &Drawing) -> String {
    let page = PAGE.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT);
    let (before, after) = page.split_once("/*DATA*/").unwrap_or((&page, ""));
    // Plain data of numbers and strings has nothing that cannot be written.
    let data = serde_json::to_string(&Data::new(drawing)).unwrap_or_default();
    // No name may end the script element or open a comment in it.
    let data = data.replace('<', "\\u003c");
    let mut out = String::with_capacity(before.len() + data.len() + after.len());
    out.push_str(before);
    out.push_str(&data);
    out.push_str(after);
    out
}

/// What the script reads. Plans are mostly of the same tenants, and those are most of a page: a
/// column that is the first plan's too is left out.
#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    names: &'a [String],
    steps: &'a [String],
    first: u64,
    last: u64,
    plans: Vec<Columns<'a>>,
}

#[derive(Serialize)]
struct Columns<'a> {
    label: &'a str,
    bytes: u64,
    bound: u64,
    optimal: bool,
    winner: bool,
    arenas: &'a [DrawnArena],
    #[serde(skip_serializing_if = "Option::is_none")]
    buffer: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arena: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower: Option<&'a [u64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper: Option<&'a [u64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<&'a [u64]>,
    offset: &'a [u64],
}

impl<'a> Data<'a> {
    fn new(drawing: &'a Drawing) -> Data<'a> {
        let Drawing { title, names, steps, first, last, plans } = drawing;
        let mut columns: Vec<Columns<'a>> = plans.iter().map(Columns::new).collect();
        if let [one, others @ ..] = &mut columns[..] {
            for other in others {
                other.buffer = other.buffer.filter(|column| Some(*column) != one.buffer);
                other.arena = other.arena.filter(|column| Some(*column) != one.arena);
                other.lower = other.lower.filter(|column| Some(*column) != one.lower);
                other.upper = other.upper.filter(|column| Some(*column) != one.upper);
                other.size = other.size.filter(|column| Some(*column) != one.size);
            }
        }
        Data { title, names, steps, first: *first, last: *last, plans: columns }
    }
}

impl<'a> Columns<'a> {
    fn new(plan: &'a DrawnPlan) -> Columns<'a> {
        Columns {
            label: &plan.label,
            bytes: plan.bytes,
            bound: plan.bound,
            optimal: plan.optimal,
            winner: plan.winner,
            arenas: &plan.arenas,
            buffer: Some(&plan.buffer),
            arena: Some(&plan.arena),
            lower: Some(&plan.lower),
            upper: Some(&plan.upper),
            size: Some(&plan.size),
            offset: &plan.offset,
        }
    }
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
        assert_eq!(back["plans"][0]["offset"], serde_json::json!([0]));
    }

    #[test]
    fn what_plans_share_is_there_once() {
        let tenant = Tenant { buffer: 0, arena: 0, lower: 1, upper: 2, size: 64, offset: 0 };
        let plan = |upper| {
            let mut plan = DrawnPlan { bytes: 64, ..Default::default() };
            plan.add_arena(String::new(), 64);
            plan.add_tenant(Tenant { upper, ..tenant });
            plan
        };
        let drawing = Drawing { plans: vec![plan(2), plan(2), plan(3)], ..Default::default() };
        let data = serde_json::to_value(Data::new(&drawing)).unwrap();
        let has = |plan: usize, column: &str| data["plans"][plan].get(column).is_some();
        for column in ["buffer", "arena", "lower", "upper", "size"] {
            assert!(has(0, column) && !has(1, column), "{column}");
        }
        assert!(has(1, "offset") && has(2, "upper") && !has(2, "lower"));
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
