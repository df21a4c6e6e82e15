//! The text of the program that samples.
//!
//! Sampling gives a picture of four channels, in 255ths: the components that the destination
//! wants, before or after they are made integers. Where they go is the business of `packing`;
//! pictures of four bytes a pixel are done.

use std::fmt::Write as _;

use super::feed::{Feed, Fold};
use super::table::Run;

/// What every program begins with.
pub(super) const HEAD: &str = "#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
out vec4 result;
";

/// Sums with fewer terms than this are written out.
pub(super) const WRITTEN_OUT: usize = 64;

/// What is sampled, and what becomes of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sampling {
    pub(super) feeds: &'static [Feed],
    pub(super) across: Vec<Run>,
    pub(super) down: Vec<Run>,
    pub(super) transposed: bool,
    pub(super) store: Store,
    /// Whether blue comes first.
    pub(super) swapped: bool,
    /// The shape of each feed's weights, if they are computed; otherwise they are in the tables.
    pub(super) triangles: Vec<Triangle>,
}

/// Weights that fall evenly from a top to zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Triangle {
    /// How much they fall from one sample to the next, across and down.
    pub(super) narrow: [f32; 2],
    /// The first and one past the last sample across.
    pub(super) range: [i32; 2],
    /// Whether words have bytes outside that range.
    pub(super) bounded: bool,
}

/// What sampling leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    /// Values from 0 to 1.
    Plain,
    /// Codes of unsigned integers, as 255ths.
    Unsigned,
    /// Codes of signed integers, as 255ths of what they are unsigned.
    Signed,
}

impl Sampling {
    pub(super) fn text(&self) -> String {
        let mut text = String::from(HEAD);
        let planes =
            self.feeds.iter().flat_map(|feed| feed.planes).max().map_or(1, |last| last + 1);
        for plane in 0..planes {
            let _ = writeln!(text, "uniform sampler2D plane{plane};\nuniform ivec2 base{plane};");
        }
        for feed in 0..self.triangles.len() {
            let _ = writeln!(text, "uniform vec2 narrow{feed};\nuniform vec2 middle{feed};");
        }
        text += "uniform sampler2D across;\nuniform sampler2D down;\nuniform ivec2 origin;\n";
        text += "uniform mat3 matrix;\nuniform vec3 offset;\nuniform vec4 multiply;\n";
        text += "uniform vec4 add;\n";
        text += "void main() {\n    ivec2 at = ivec2(gl_FragCoord.xy) - origin;\n";
        text += match self.transposed {
            false => "    int u = at.x, v = at.y;\n",
            true => "    int u = at.y, v = at.x;\n",
        };
        text += "    vec4 left = texelFetch(across, ivec2(0, u), 0);\n";
        text += "    vec4 top = texelFetch(down, ivec2(0, v), 0);\n";
        let mut values = vec![];
        for (index, feed) in self.feeds.iter().enumerate() {
            self.weights(&mut text, index, feed);
            let runs = (self.across[index], self.down[index]);
            for plane in feed.planes {
                let (name, first) = (format!("{index}{plane}"), self.first(index));
                let _ = writeln!(
                    text,
                    "    ivec2 at{name} = ivec2(left.{first}, top.{first}) - base{plane};"
                );
                sums(&mut text, &name, index, *plane, feed.fold, runs);
                folded(&mut text, &name, &format!("left.{first}"), feed.fold);
                let single = feed.fold.components() == 1;
                let one = |at: usize| match single {
                    true => format!("value{name}"),
                    false => format!("value{name}.{}", &"xyzw"[at..=at]),
                };
                let scaled = |value: String| match self.triangles.is_empty() {
                    true => value,
                    false => format!("{value} * scale{index}"),
                };
                values.extend((0..feed.fold.components()).map(one).map(scaled));
            }
        }
        let alpha = if values.len() == 4 { values[3].clone() } else { "1.0".to_owned() };
        let vector = match &values[..] {
            [grey] => format!("vec3({grey}, 0.0, 0.0)"),
            all => format!("vec3({})", all[..3].join(", ")),
        };
        let _ = writeln!(text, "    vec4 full = vec4(matrix * {vector} + offset, {alpha});");
        text += "    full = clamp(full, 0.0, 1.0);\n";
        if self.store != Store::Plain {
            let (low, high) = if self.store == Store::Signed { (-128, 127) } else { (0, 255) };
            let _ = writeln!(
                text,
                "    full = clamp(floor(full * multiply + add + 0.5), {low}.0, {high}.0);"
            );
            if self.store == Store::Signed {
                text += "    full += 256.0 * vec4(lessThan(full, vec4(0.0)));\n";
            }
            text += "    full /= 255.0;\n";
        }
        let order = if self.swapped { "bgra" } else { "rgba" };
        let _ = writeln!(text, "    result = full.{order};\n}}");
        text
    }
}

impl Sampling {
    /// Which part of a table's first texel has a feed's first word or row.
    fn first(&self, feed: usize) -> &'static str {
        let each = if self.triangles.is_empty() { 1 } else { 2 };
        let at = feed * each;
        &"xyzw"[at..=at]
    }

    /// The weights of a feed: `word` and `row` with its number and theirs.
    fn weights(&self, text: &mut String, index: usize, feed: &Feed) {
        let (across, down) = (self.across[index], self.down[index]);
        let Some(triangle) = self.triangles.get(index) else {
            if across.count * down.count > WRITTEN_OUT {
                return;
            }
            for quad in 0..down.count.div_ceil(4) {
                let column = down.column + quad;
                let _ = writeln!(
                    text,
                    "    vec4 quad{index}_{quad} = texelFetch(down, ivec2({column}, v), 0);"
                );
            }
            for row in 0..down.count {
                let (quad, part) = (row / 4, &"xyzw"[row % 4..=row % 4]);
                let _ = writeln!(text, "    float row{index}_{row} = quad{index}_{quad}.{part};");
            }
            for word in 0..across.count {
                let column = across.column + word;
                let _ = writeln!(
                    text,
                    "    vec4 word{index}_{word} = texelFetch(across, ivec2({column}, u), 0);"
                );
            }
            return;
        };
        let top = ["y", "w"][index.min(1)];
        let _ = writeln!(text, "    float total{index} = 0.0;");
        for row in 0..down.count {
            let _ = writeln!(
                text,
                "    float row{index}_{row} = max(0.0, 1.0 - abs({row}.5 - top.{top}) * narrow{index}.y);\n    \
                 total{index} += row{index}_{row};"
            );
        }
        let counted: Vec<String> = (0..4).map(|byte| feed.counts(byte).to_string()).collect();
        let counted = format!("vec4({})", counted.join(", "));
        let first = self.first(index);
        let _ = writeln!(text, "    vec4 all{index} = vec4(0.0);");
        if feed.step == 3 {
            let _ = writeln!(
                text,
                "    float phase{index} = left.{first} - 3.0 * floor((left.{first} + 0.5) / 3.0);\n    \
                 float origin{index} = floor((left.{first} * 4.0 + 0.5) / 3.0);"
            );
        } else {
            let _ = writeln!(text, "    float origin{index} = left.{first} * {}.0;", 4 / feed.step);
        }
        for word in 0..across.count {
            let places = match feed.step {
                // The first byte of a word is the first of a pixel in every third.
                3 => format!(
                    "floor((vec4(0.5, 1.5, 2.5, 3.5) + (phase{index} + {}.0)) / 3.0)",
                    word * 4
                ),
                step => {
                    let place = |byte: usize| ((word * 4 + byte) / step).to_string();
                    format!("vec4({})", (0..4).map(place).collect::<Vec<_>>().join(", "))
                }
            };
            let name = format!("word{index}_{word}");
            let _ = writeln!(
                text,
                "    vec4 place{index}_{word} = {places};\n    \
                 vec4 {name} = max(vec4(0.0), 1.0 - abs(place{index}_{word} + 0.5 - left.{top}) * narrow{index}.x);"
            );
            if triangle.bounded {
                let _ = writeln!(
                    text,
                    "    {name} *= vec4(lessThan(abs(place{index}_{word} + origin{index} - middle{index}.x), vec4(middle{index}.y)));"
                );
            }
            if counted != "vec4(1, 1, 1, 1)" {
                let _ = writeln!(text, "    {name} *= {counted};");
            }
            let _ = writeln!(text, "    all{index} += {name};");
        }
        let each: f64 = feed.bytes.iter().map(|(_, count)| count).sum();
        let _ = writeln!(
            text,
            "    float scale{index} = {each:?} / (dot(all{index}, vec4(1.0)) * total{index});"
        );
    }
}

/// The weighted sums of a plane's words; of pixels of three bytes, three by the words' turn.
fn sums(
    text: &mut String,
    name: &str,
    feed: usize,
    plane: usize,
    fold: Fold,
    (across, down): (Run, Run),
) {
    let turns = if matches!(fold, Fold::Triples(_)) { 3 } else { 1 };
    for turn in 0..turns {
        let _ = writeln!(text, "    vec4 sum{name}{turn} = vec4(0.0);");
    }
    if across.count * down.count <= WRITTEN_OUT {
        for word in 0..across.count {
            let fetch = |row: usize| {
                format!(
                    "texelFetch(plane{plane}, at{name} + ivec2({word}, {row}), 0) * row{feed}_{row}"
                )
            };
            let terms = (0..down.count).map(fetch).collect::<Vec<_>>().join("\n        + ");
            let turn = word % turns;
            let _ =
                writeln!(text, "    sum{name}{turn} += ({terms})\n        * word{feed}_{word};");
        }
        return;
    }
    let (words, quads) = (across.count.div_ceil(turns), down.count.div_ceil(4));
    let _ = writeln!(text, "    for (int word = 0; word < {words}; word++) {{");
    for turn in 0..turns {
        let guard = match turn {
            0 => String::new(),
            _ => format!("if (word * {turns} + {turn} < {})", across.count),
        };
        let _ = writeln!(text, "        {guard} {{\n            vec4 column = vec4(0.0);");
        let _ = writeln!(text, "            for (int quad = 0; quad < {quads}; quad++) {{");
        let _ = writeln!(
            text,
            "                vec4 rows = texelFetch(down, ivec2({} + quad, v), 0);",
            down.column
        );
        for (row, part) in ["x", "y", "z", "w"].into_iter().enumerate() {
            let guard = match row {
                0 => String::new(),
                _ => format!("if (quad * 4 + {row} < {})", down.count),
            };
            let _ = writeln!(
                text,
                "                {guard} column += texelFetch(plane{plane}, at{name} + ivec2(word * {turns} + {turn}, quad * 4 + {row}), 0) * rows.{part};"
            );
        }
        let _ = writeln!(
            text,
            "            }}\n            sum{name}{turn} += column * texelFetch(across, ivec2({} + word * {turns} + {turn}, u), 0);\n        }}",
            across.column
        );
    }
    text.push_str("    }\n");
}

/// The components in the sums of a plane.
fn folded(text: &mut String, name: &str, first: &str, fold: Fold) {
    let value = format!("value{name}");
    let sum = format!("sum{name}0");
    let _ = match fold {
        Fold::Sum => writeln!(text, "    float {value} = dot({sum}, vec4(1.0));"),
        Fold::Bytes(names) => {
            let kind = if names.len() == 4 { "vec4" } else { "vec2" };
            writeln!(text, "    {kind} {value} = {sum}.{names};")
        }
        Fold::Pairs(names) => {
            writeln!(text, "    vec2 {value} = ({sum}.xy + {sum}.zw).{names};")
        }
        Fold::Wide => writeln!(text, "    vec2 {value} = {sum}.xz + {sum}.yw;"),
        Fold::Triples(names) => {
            let _ = writeln!(
                text,
                "    vec3 {value} = vec3({sum}.x + {sum}.w + sum{name}1.z + sum{name}2.y,\n        \
                 {sum}.y + sum{name}1.x + sum{name}1.w + sum{name}2.z,\n        \
                 {sum}.z + sum{name}1.y + sum{name}2.x + sum{name}2.w);"
            );
            writeln!(
                text,
                "    float turn{name} = {first} - 3.0 * floor(({first} + 0.5) / 3.0);\n    \
                 {value} = (turn{name} < 0.5 ? {value} : turn{name} < 1.5 ? {value}.zxy : {value}.yzx).{names};"
            )
        }
    };
}
