//! x
use tenure_plan::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let items = text.lines().skip(1).map(|l| { let f: Vec<&str> = l.split(',').collect(); Item { lower: f[1].trim().parse().unwrap(), upper: f[2].trim().parse().unwrap(), size: f[3].trim().parse().unwrap(), align: 1 } }).collect();
    let p = Problem::new(items).unwrap();
    let lb = lower_bound(&p);
    let cap = match a[2].as_str() { "lb" => lb, x => x.parse().unwrap() };
    let t = std::time::Instant::now();
    let (o, s) = solve::trial(&p, cap, a[3].parse().unwrap(), a[4].parse().unwrap());
    let ok = s.starts_with("Found");
    println!("{} cap {cap} lb {lb} {s} {:.3}s {}", a[1].rsplit('/').next().unwrap(), t.elapsed().as_secs_f64(), if ok { format!("{:?}", check_offsets(&p, &o, cap)) } else { String::new() });
}
