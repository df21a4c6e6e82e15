//! The table of accesses in ARCHITECTURE.md is what [`Access::excludes`] says.

use tenure_memory::Access;

const DOCUMENT: &str = include_str!("../../../ARCHITECTURE.md");
const ALL: [Access; 7] = [
    Access::Read,
    Access::Write,
    Access::KernelRead,
    Access::KernelWrite,
    Access::ExportRead,
    Access::ExportWrite,
    Access::Publish,
];

/// The cells of a line of a Markdown table, without those before the first and after the last `|`.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|');
    line.split('|').map(str::trim).collect()
}

#[test]
fn the_documented_table_is_the_code() {
    let names = ALL.map(|access| format!("{access:?}"));
    let mut lines = DOCUMENT.lines().skip_while(|line| cells(line).get(1) != Some(&&*names[0]));
    let head = lines.next().expect("a table with a column for every access");
    assert_eq!(cells(head)[1..], names);

    for ((row, name), line) in ALL.iter().zip(&names).zip(lines.skip(1)) {
        let cells = cells(line);
        assert_eq!(cells[0], format!("**{name}**"));
        let documented: Vec<bool> = cells[1..].iter().map(|cell| *cell == "x").collect();
        let real = ALL.map(|column| row.excludes(column));
        assert_eq!(documented, real, "row {name}");
    }
}
