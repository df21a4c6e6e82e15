//! The text of the program that samples.
//!
//! Sampling gives a picture of four channels, in 255ths: the components that the destination
//! wants, before or after they are made integers. Where they go is the business of `packing`;
//! pictures of four bytes a pixel are done.

use std::fmt::Write as _;

use smallvec::SmallVec;

use super::feed::{Feed, Fold};
use super::ramp::Ramp;
use super::table::Run;
use crate::normalize::Affine;

/// What every program begins with.
pub(super) const HEAD: &str = "#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
out vec4 result;
";

/// The farthest that a fetch may be from the place it is given, in every OpenGL.
const FARTHEST: usize = 7;

/// Sums with fewer terms than this are written out.
pub(super) const WRITTEN_OUT: usize = 64;

/// What is sampled, and what becomes of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sampling {
    pub(super) feeds: &'static [Feed],
    pub(super) across: SmallVec<[Run; 2]>,
    pub(super) down: SmallVec<[Run; 2]>,
    pub(super) transposed: bool,
    pub(super) store: Store,
    /// Whether blue comes first.
    pub(super) swapped: bool,
    /// How each feed's weights are computed; if there are none, they are in tables.
    pub(super) triangles: SmallVec<[Triangle; 2]>,
    /// Colour: columns of the matrix, and what is added. Written out, as there are few.
    pub(super) matrix: [f32; 9],
    pub(super) offset: [f32; 3],
    /// What becomes of colours that are stored as integers of another kind.
    pub(super) affine: Affine,
}

/// Weights that fall evenly from a top to zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Triangle {
    pub(super) across: Ramp,
    pub(super) down: Ramp,
    /// The first and one past the last sample across.
    pub(super) range: [f32; 2],
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
            let _ = writeln!(text, "uniform sampler2D plane{plane};\nflat in vec4 inside{plane};");
        }
        text += "flat in vec2 corner;\n";
        for feed in 0..self.triangles.len() {
            let _ = writeln!(
                text,
                "flat in vec4 places_x{feed};\nflat in vec4 limits_x{feed};\n\
                 flat in vec4 places_y{feed};\nflat in vec4 limits_y{feed};\n\
                 flat in vec2 range{feed};"
            );
        }
        if self.triangles.is_empty() {
            text += "uniform sampler2D across;\nuniform sampler2D down;\n";
        }
        text += "void main() {\n    vec2 at = gl_FragCoord.xy - corner;\n";
        text += match self.transposed {
            false => "    float u = at.x, v = at.y;\n",
            true => "    float u = at.y, v = at.x;\n",
        };
        if self.triangles.is_empty() {
            text += "    vec4 left = texelFetch(across, ivec2(0, int(u)), 0);\n";
            text += "    vec4 top = texelFetch(down, ivec2(0, int(v)), 0);\n";
        }
        let mut values = vec![];
        for (index, feed) in self.feeds.iter().enumerate() {
            match self.triangles.get(index) {
                Some(triangle) => self.computed_weights(&mut text, index, feed, triangle),
                None => self.fetched_weights(&mut text, index),
            }
            let runs = (self.across[index], self.down[index]);
            for plane in feed.planes {
                let name = format!("{index}{plane}");
                let _ = writeln!(
                    text,
                    "    vec2 at{name} = vec2(word{index}, row{index}) - inside{plane}.xy;"
                );
                sums(&mut text, &name, index, *plane, feed.fold, runs);
                folded(&mut text, &name, index, feed.fold);
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
        self.coloured(&mut text, &values);
        text
    }

    /// Colour and what is stored, from the components of a source.
    fn coloured(&self, text: &mut String, values: &[String]) {
        let alpha = if values.len() == 4 { values[3].clone() } else { "1.0".to_owned() };
        let vector = match values {
            [grey] => format!("vec3({grey}, 0.0, 0.0)"),
            all => format!("vec3({})", all[..3].join(", ")),
        };
        let _ = writeln!(
            text,
            "    vec4 full = vec4(mat3({}) * {vector} + vec3({}), {alpha});",
            numbers(&self.matrix),
            numbers(&self.offset)
        );
        *text += "    full = clamp(full, 0.0, 1.0);\n";
        if self.store != Store::Plain {
            let (low, high) = if self.store == Store::Signed { (-128, 127) } else { (0, 255) };
            // The shader has 1 for 255.
            let multiply = self.affine.multiply.map(|value| value * 255.0);
            let _ = writeln!(
                text,
                "    full = clamp(floor(full * vec4({}) + vec4({}) + 0.5), {low}.0, {high}.0);",
                numbers(&multiply),
                numbers(&self.affine.add)
            );
            if self.store == Store::Signed {
                *text += "    full += 256.0 * vec4(lessThan(full, vec4(0.0)));\n";
            }
            *text += "    full /= 255.0;\n";
        }
        let order = if self.swapped { "bgra" } else { "rgba" };
        let _ = writeln!(text, "    result = full.{order};\n}}");
    }

    /// The weights of a feed out of tables: its first word and row, and `word` and `row` with its
    /// number and theirs.
    fn fetched_weights(&self, text: &mut String, index: usize) {
        let (across, down) = (self.across[index], self.down[index]);
        let part = &"xyzw"[index..=index];
        let _ = writeln!(text, "    float word{index} = left.{part}, row{index} = top.{part};");
        if across.count * down.count > WRITTEN_OUT {
            return;
        }
        for quad in 0..down.count.div_ceil(4) {
            let column = down.column + quad;
            let _ = writeln!(
                text,
                "    vec4 quad{index}_{quad} = texelFetch(down, ivec2({column}, int(v)), 0);"
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
                "    vec4 word{index}_{word} = texelFetch(across, ivec2({column}, int(u)), 0);"
            );
        }
    }

    /// The same, computed.
    fn computed_weights(&self, text: &mut String, index: usize, feed: &Feed, own: &Triangle) {
        ramp(text, index, 'x', 'u');
        let step = feed.step;
        let _ = writeln!(
            text,
            "    float word{index} = min(floor(first_x{index} * {:?}), limits_x{index}.z);",
            step as f64 / 4.0
        );
        match step {
            // The first byte of a word is the first of a pixel in every third.
            3 => {
                let _ = writeln!(
                    text,
                    "    float origin{index} = floor((word{index} * 4.0 + 0.5) / 3.0);\n    \
                     float phase{index} = word{index} - 3.0 * floor((word{index} + 0.5) / 3.0);"
                );
            }
            _ => {
                let _ = writeln!(text, "    float origin{index} = word{index} * {}.0;", 4 / step);
            }
        }
        let _ = writeln!(
            text,
            "    float top_x{index} = base_x{index} - origin{index} + part_x{index};"
        );
        ramp(text, index, 'y', 'v');
        let _ = writeln!(
            text,
            "    float row{index} = min(first_y{index}, limits_y{index}.z);\n    \
             float top_y{index} = base_y{index} - row{index} + part_y{index};"
        );
        let _ = writeln!(text, "    float total{index} = 0.0;");
        for row in 0..self.down[index].count {
            let _ = writeln!(
                text,
                "    float row{index}_{row} = max(0.0, 1.0 - abs({row}.5 - top_y{index}) * limits_y{index}.w);\n    \
                 total{index} += row{index}_{row};"
            );
        }
        let counted: Vec<f32> = (0..4).map(|byte| feed.counts(byte) as f32).collect();
        let _ = writeln!(text, "    vec4 all{index} = vec4(0.0);");
        for word in 0..self.across[index].count {
            let places = match step {
                3 => format!(
                    "floor((vec4(0.5, 1.5, 2.5, 3.5) + (phase{index} + {}.0)) / 3.0) + 0.5",
                    word * 4
                ),
                step => {
                    let place = |byte: usize| format!("{}.5", (word * 4 + byte) / step);
                    format!("vec4({})", (0..4).map(place).collect::<Vec<_>>().join(", "))
                }
            };
            let name = format!("word{index}_{word}");
            let _ = writeln!(
                text,
                "    vec4 place{index}_{word} = {places};\n    \
                 vec4 {name} = max(vec4(0.0), 1.0 - abs(place{index}_{word} - top_x{index}) * limits_x{index}.w);"
            );
            if own.bounded {
                let _ = writeln!(
                    text,
                    "    {name} *= vec4(lessThan(abs(place{index}_{word} + origin{index} - range{index}.x), vec4(range{index}.y)));"
                );
            }
            if counted != [1.0; 4] {
                let _ = writeln!(text, "    {name} *= vec4({});", numbers(&counted));
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

/// Where a feed's triangle is along an axis: whole samples, the rest, and the first that counts.
fn ramp(text: &mut String, index: usize, axis: char, along: char) {
    let (places, limits) = (format!("places_{axis}{index}"), format!("limits_{axis}{index}"));
    let _ = writeln!(
        text,
        "    float along_{axis}{index} = {along} * {places}.x;\n    \
         float base_{axis}{index} = floor(along_{axis}{index});\n    \
         float part_{axis}{index} = (along_{axis}{index} - base_{axis}{index}) + {along} * {places}.y + {places}.w;\n    \
         base_{axis}{index} += {places}.z;\n    \
         float first_{axis}{index} = max(base_{axis}{index} + floor(part_{axis}{index} - {limits}.x), {limits}.y);"
    );
}

/// Numbers as OpenGL reads them.
fn numbers(all: &[f32]) -> String {
    all.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>().join(", ")
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
        // The middle of the first texel, for drivers that are quicker so.
        let _ = writeln!(text, "    vec2 near{name} = (at{name} + 0.5) * inside{plane}.zw;");
        for word in 0..across.count {
            let fetch = |row: usize| match across.count.max(down.count) <= FARTHEST + 1 {
                true => format!(
                    "textureLodOffset(plane{plane}, near{name}, 0.0, ivec2({word}, {row})) * row{feed}_{row}"
                ),
                false => format!(
                    "texelFetch(plane{plane}, ivec2(at{name}) + ivec2({word}, {row}), 0) * row{feed}_{row}"
                ),
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
            "                vec4 rows = texelFetch(down, ivec2({} + quad, int(v)), 0);",
            down.column
        );
        for (row, part) in ["x", "y", "z", "w"].into_iter().enumerate() {
            let guard = match row {
                0 => String::new(),
                _ => format!("if (quad * 4 + {row} < {})", down.count),
            };
            let _ = writeln!(
                text,
                "                {guard} column += texelFetch(plane{plane}, ivec2(at{name}) + ivec2(word * {turns} + {turn}, quad * 4 + {row}), 0) * rows.{part};"
            );
        }
        let _ = writeln!(
            text,
            "            }}\n            sum{name}{turn} += column * texelFetch(across, ivec2({} + word * {turns} + {turn}, int(u)), 0);\n        }}",
            across.column
        );
    }
    text.push_str("    }\n");
}

/// The components in the sums of a plane.
fn folded(text: &mut String, name: &str, feed: usize, fold: Fold) {
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
                "    float turn{name} = word{feed} - 3.0 * floor((word{feed} + 0.5) / 3.0);\n    \
                 {value} = (turn{name} < 0.5 ? {value} : turn{name} < 1.5 ? {value}.zxy : {value}.yzx).{names};"
            )
        }
    };
}
