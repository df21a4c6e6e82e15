//! Tables that minimalloc reads and writes.

mod common;

use common::random::{Wish, schedule};
use proptest::prelude::*;
use tenure_plan::{
    CsvError, Item, Options, Packer, PlannerMode, Problem, Table, check_offsets, lower_bound, plan,
    verify,
};

fn error(text: &str) -> String {
    Table::from_csv(text).unwrap_err().to_string()
}

#[test]
fn faults_name_line_and_column() {
    assert_eq!(Table::from_csv(""), Err(CsvError::Empty));
    assert_eq!(Table::from_csv("\n \n"), Err(CsvError::Empty));
    assert!(error("id,lower,size").contains("line 1: no column upper"));
    assert!(error("id,id,lower,upper,size").contains("two columns for id"));
    assert!(error("id,lower,start,upper,size").contains("two columns for lower"));
    let with = |line: &str| error(&format!("id,lower,upper,size\na,0,1,2\n{line}\n"));
    assert!(with("b,3,2,1").contains("line 3: alive in 3..2"));
    assert!(with("b,3,3,1").contains("line 3"));
    assert!(with("b,3,4").contains("line 3: 3 fields"));
    assert!(with("a,3,4,1").contains("that of line 2 as well"));
    for bad in ["NaN", "nan", "inf", "-1", "+1", "1e3", "1.5", "0x10", "", "1 2", "٣"] {
        assert!(with(&format!("b,0,1,{bad}")).contains("line 3, column size"), "{bad}");
        assert!(with(&format!("b,{bad},1,1")).contains("line 3, column lower"), "{bad}");
    }
    assert!(with("b,0,1,18446744073709551616").contains("line 3, column size"));
    assert!(with("b,0,1,18446744073709551615").contains("sum to over"));
    assert!(
        error("id,start,end,size\nb,0,18446744073709551615,1").contains("line 2, column upper")
    );
    assert!(error("id,lower,upper,size,alignment\nb,0,1,1,3").contains("column alignment: 3"));
}

#[test]
fn columns_come_in_any_order() {
    let items = vec![Item { lower: 1, upper: 5, size: 7, align: 8 }];
    let table = Table {
        names: vec!["x".to_owned()],
        problem: Problem::new(items).unwrap(),
        offsets: Some(vec![16]),
    };
    let text =
        "\u{feff}size, offset,hint,upper,alignment,buffer_id,lower\r\n7,16,-1,5,8,x,1\r\n\r\n";
    assert_eq!(Table::from_csv(text).unwrap(), table);
    let text = "start,end,size,id,alignment,offset\n1,4,7,x,8,16";
    assert_eq!(Table::from_csv(text).unwrap(), table);
    assert_eq!(table.to_csv(), "id,lower,upper,size,alignment,offset\nx,1,5,7,8,16\n");
    let none = Table::from_csv("id,lower,upper,size\n").unwrap();
    assert_eq!((none.problem.items().len(), none.offsets), (0, None));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn tables_round_trip(items in proptest::collection::vec((0u64..9, 1u64..5, 0u64..99, 0u32..4), 0..12)) {
        let items: Vec<Item> = items
            .into_iter()
            .map(|(lower, life, size, align)| Item { lower, upper: lower + life, size, align: 1 << align })
            .collect();
        let names = (0..items.len()).map(|index| format!("item {index}")).collect();
        let table = Table { names, problem: Problem::new(items).unwrap(), offsets: None };
        prop_assert_eq!(&Table::from_csv(&table.to_csv()).unwrap(), &table);
        let options = Options { work: 2000, ..Options::default() };
        let packing = Packer::Best.pack(&table.problem, &options);
        let placed = table.with(&packing);
        prop_assert_eq!(&Table::from_csv(&placed.to_csv()).unwrap(), &placed);
        // The schedule of a table has the same bound, but for the last buffer's rounding.
        let schedule = table.to_schedule();
        let made = plan(&schedule, PlannerMode::Arena, Packer::Best, &options).unwrap();
        prop_assert_eq!(verify(&schedule, &made), Ok(()));
        prop_assert!(made.bytes >= lower_bound(&table.problem));
        if table.problem.items().iter().all(|item| item.align == 1) {
            prop_assert_eq!((made.bytes, made.lower_bound), (packing.bytes, packing.lower_bound));
        }
    }

    #[test]
    fn arenas_of_plans_are_tables(seed: u64, steps in 0usize..14) {
        let wish = Wish { seed, buffers: 12, steps, levels: seed % 2 == 0, in_place: true, ..Wish::default() };
        let schedule = schedule(wish);
        let options = Options { work: 2000, ..Options::default() };
        for mode in PlannerMode::ALL {
            let made = plan(&schedule, mode, Packer::Best, &options).unwrap();
            for (index, arena) in made.arenas.iter().enumerate() {
                let table = Table::of_arena(&schedule, &made, index).unwrap();
                let offsets = table.offsets.clone().unwrap();
                prop_assert_eq!(check_offsets(&table.problem, &offsets, arena.bytes), Ok(()));
            }
        }
    }

    #[test]
    fn no_text_is_fatal(text in "[a-z0-9,\n\r -]{0,80}", header: bool) {
        let text = if header { format!("id,lower,upper,size\n{text}") } else { text };
        let _ = Table::from_csv(&text);
    }
}
