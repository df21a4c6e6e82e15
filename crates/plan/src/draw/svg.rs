//! A picture of one plan, for documents.

use std::fmt::Write;

use super::{Drawing, DrawnPlan};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 640.0;
/// Room around the map for words.
const LEFT: f64 = 16.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = 28.0;
/// Pictures with more would not open; what is thinner than a hair is left out, and counted.
const HAIR: f64 = 0.12;
/// Names in rectangles: their size, the room beside them, and how many letters are worth it.
const LETTER: f64 = 11.0;
const PAD: f64 = 4.0;
const LEAST: usize = 4;

pub(super) fn svg(drawing: &Drawing) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = picture(drawing, &mut out);
    out
}

fn picture(drawing: &Drawing, out: &mut String) -> std::fmt::Result {
    let (full_width, full_height) = (WIDTH + 2.0 * LEFT, HEIGHT + TOP + BOTTOM);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full_width} {full_height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">"
    )?;
    writeln!(
        out,
        "<style>rect.g{{fill:#fff}}text{{fill:#1c1c1a}}.s{{fill:#6a6a64}}.t{{stroke:#fff;stroke-width:.5}}\
         text.a{{paint-order:stroke;stroke:#fff;stroke-width:3px;font-weight:600;fill:#1c1c1a}}\
         text.n{{font-size:11px;fill:#1c1c1a;pointer-events:none}}\
         @media(prefers-color-scheme:dark){{rect.g{{fill:#1f2123}}text{{fill:#e9e9e6}}.s{{fill:#9c9c96}}\
         .t{{stroke:#1f2123}}}}</style>"
    )?;
    writeln!(out, "<rect class=\"g\" width=\"{full_width}\" height=\"{full_height}\"/>")?;
    if let Some(plan) = drawing.winner() {
        map(drawing, plan, out)?;
    } else {
        writeln!(out, "<text x=\"{LEFT}\" y=\"24\">nothing to draw</text>")?;
    }
    writeln!(out, "</svg>")
}

fn map(drawing: &Drawing, plan: &DrawnPlan, out: &mut String) -> std::fmt::Result {
    let steps = drawing.last.saturating_sub(drawing.first).max(1) as f64;
    let bytes = plan.bytes.max(1) as f64;
    let verdict =
        if plan.optimal { "proven minimal".to_owned() } else { format!("bound {}", plan.bound) };
    let title = escaped(&drawing.title);
    writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"22\" font-weight=\"600\">{title}</text>\
         <text class=\"s\" x=\"{LEFT}\" y=\"41\">{}: {} bytes, {verdict}; address over {} steps</text>",
        escaped(&plan.label),
        plan.bytes,
        drawing.last.saturating_sub(drawing.first),
    )?;
    let mut left_out = 0u64;
    for (tenant, base) in plan.tenants().zip(&plan.base) {
        let x = tenant.lower.saturating_sub(drawing.first) as f64 / steps * WIDTH;
        let width = tenant.upper.saturating_sub(tenant.lower) as f64 / steps * WIDTH;
        let height = tenant.size as f64 / bytes * HEIGHT;
        let y = HEIGHT - *base as f64 / bytes * HEIGHT - height;
        if width < HAIR || height < HAIR {
            left_out += 1;
            continue;
        }
        let hue =
            ((tenant.size as f64 + 1.0).log2() * 47.0 + f64::from(tenant.buffer % 7) * 6.0) % 360.0;
        let name = drawing.names.get(tenant.buffer as usize).map_or("", String::as_str);
        writeln!(
            out,
            "<rect class=\"t\" x=\"{:.2}\" y=\"{:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" \
             fill=\"hsl({hue:.0} 52% 66%)\"><title>{}: {} bytes at {}, steps {} to {}</title></rect>",
            x + LEFT,
            y + TOP,
            escaped(name),
            tenant.size,
            tenant.offset,
            tenant.lower,
            tenant.upper.saturating_sub(1),
        )?;
        if let Some(shown) = fitting(name, width, height) {
            writeln!(
                out,
                "<text class=\"n\" x=\"{:.2}\" y=\"{:.2}\">{}</text>",
                x + LEFT + PAD,
                y + TOP + height / 2.0 + LETTER / 3.0,
                escaped(&shown),
            )?;
        }
    }
    for (index, arena) in plan.arenas.iter().enumerate().filter(|_| plan.arenas.len() > 1) {
        let y = TOP + HEIGHT - arena.base as f64 / bytes * HEIGHT;
        if index > 0 {
            let path = format!("M{LEFT} {y:.1}h{WIDTH}");
            writeln!(out, "<path d=\"{path}\" stroke=\"#888\" stroke-dasharray=\"5 4\"/>")?;
        }
        if !arena.label.is_empty() {
            writeln!(
                out,
                "<text class=\"a\" x=\"{}\" y=\"{:.1}\">{}</text>",
                LEFT + 4.0,
                y - 4.0,
                escaped(&arena.label),
            )?;
        }
    }
    if left_out > 0 {
        let y = TOP + HEIGHT + 19.0;
        writeln!(
            out,
            "<text class=\"s\" x=\"{LEFT}\" y=\"{y}\">{left_out} tenants are too small to be seen</text>"
        )?;
    }
    Ok(())
}

/// As much of a name as is readable in a rectangle; `None` where that is next to nothing.
fn fitting(name: &str, width: f64, height: f64) -> Option<String> {
    // Letters are taken for as wide as most are; the widest would be half as many.
    let room = ((width - 2.0 * PAD) / (LETTER * 0.62)) as usize;
    let letters = name.chars().count();
    if height < LETTER + 2.0 || letters == 0 || room < letters.min(LEAST) {
        return None;
    }
    if letters <= room {
        return Some(name.to_owned());
    }
    Some(name.chars().take(room - 1).chain(['…']).collect())
}

/// Text that XML takes for text. Control characters have no place in it at all.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}');
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Tenant;

    #[test]
    fn names_are_text() {
        assert_eq!(escaped("a<b>&\"c\u{0}\n"), "a&lt;b&gt;&amp;&quot;c\u{fffd} ");
    }

    #[test]
    fn names_stand_where_they_fit() {
        assert_eq!(fitting("conv", 100.0, 20.0).as_deref(), Some("conv"));
        assert_eq!(fitting("convolution", 60.0, 20.0).as_deref(), Some("convol…"));
        for (name, width, height) in
            [("conv", 100.0, 10.0), ("conv", 20.0, 20.0), ("", 100.0, 20.0)]
        {
            assert_eq!(fitting(name, width, height), None, "{name} {width} {height}");
        }
        let mut plan = DrawnPlan { bytes: 64, ..Default::default() };
        plan.add_arena(String::new(), 64);
        plan.add_tenant(Tenant { buffer: 0, arena: 0, lower: 0, upper: 1, size: 64, offset: 0 });
        let names = vec!["a<b".into()];
        let svg = Drawing { names, last: 1, plans: vec![plan], ..Default::default() }.svg();
        assert_eq!(svg.matches(">a&lt;b</text>").count(), 1, "{svg}");
    }

    #[test]
    fn every_tenant_is_drawn_or_counted() {
        let mut plan = DrawnPlan { label: "arena".into(), bytes: 1 << 40, ..Default::default() };
        plan.add_arena("device 0".into(), 1 << 40);
        for buffer in 0..10u32 {
            let (lower, size) = (u64::from(buffer), if buffer < 3 { 1 } else { 1 << 36 });
            plan.add_tenant(Tenant { buffer, arena: 0, lower, upper: lower + 1, size, offset: 0 });
        }
        let names = (0..10).map(|n| format!("t{n}")).collect();
        let drawing = Drawing { names, last: 10, plans: vec![plan], ..Default::default() };
        let svg = drawing.svg();
        assert_eq!(svg.matches("<rect class=\"t\"").count(), 7);
        assert!(!svg.contains("class=\"a\""), "one arena needs no name");
        assert!(svg.contains("3 tenants are too small"));
        assert!(Drawing::default().svg().contains("nothing to draw"));
    }
}
