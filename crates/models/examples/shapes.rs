//! Prints the graph of model files as one line per tensor and node, for scripts to compare with.
//! `shapes [--all] [--dim NAME=VALUE]... FILE...`; `--all` prints every tensor, not only outputs.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

fn main() {
    let mut dims = BTreeMap::new();
    let (mut files, mut all) = (Vec::new(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--dim" {
            let pair = arguments.next().unwrap_or_default();
            let (name, value) = pair.rsplit_once('=').unwrap_or((&pair, ""));
            dims.insert(name.to_owned(), value.parse().unwrap_or(1));
        } else if argument == "--all" {
            all = true;
        } else {
            files.push(argument);
        }
    }
    for file in files {
        let start = Instant::now();
        match tenure_models::read(Path::new(&file), &dims) {
            Err(error) => println!("{file}\terror\t{error}"),
            Ok(graph) => {
                let seconds = start.elapsed().as_secs_f64();
                let (nodes, tensors) = (graph.nodes.len(), graph.tensors.len());
                println!("{file}\tok\t{nodes} nodes\t{tensors} tensors\t{seconds:.6} s");
                for info in graph.tensors.iter().filter(|_| all) {
                    println!("{file}\ttensor\t{}\t{}\t{:?}", info.name, info.dtype, info.shape);
                }
                for output in &graph.outputs {
                    let Some(info) = graph.tensors.get(*output) else { continue };
                    println!("{file}\toutput\t{}\t{}\t{:?}", info.name, info.dtype, info.shape);
                }
            }
        }
    }
}
