//! The page on tables describes every column, and invalid requests are rejected.

use wordline_tables::{names, page, wanted, TableError, NAMES};

#[test]
fn every_column_is_named_once_and_says_what_it_means() {
    let page = page();
    let tables: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(tables.iter().map(|table| table.lines().next().unwrap()).collect::<Vec<_>>(), NAMES);
    for table in tables {
        let columns: Vec<&str> = table.lines().filter_map(|line| line.strip_prefix("| `")).collect();
        assert!(!columns.is_empty());
        let mut seen: Vec<&str> = columns.iter().map(|line| line.split('`').next().unwrap()).collect();
        seen.sort_unstable();
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
        for line in columns {
            let meaning = line.split(" | ").nth(2).unwrap().trim_end_matches(" |");
            assert!(meaning.len() > 5, "{line}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let all = wanted(&list(&NAMES), Some(100), Some(10_000_000), None).expect("all of them");
    assert_eq!((names(&all), all.sample, all.interval), (NAMES.to_vec(), 100, 10_000_000));
    assert_eq!(names(&wanted(&list(&["dies"]), None, None, None).expect("one")), ["dies"]);
    let told = |result: Result<_, TableError>| result.unwrap_err().to_string();
    assert_eq!(
        told(wanted(&list(&["die"]), None, None, None)),
        "there is no table 'die'; the tables are: requests, intervals, channels, dies, planes, blocks"
    );
    assert!(told(wanted(&list(&["dies"]), Some(0), None, None)).contains("1/N"));
    assert!(told(wanted(&list(&["dies"]), None, Some(9_999_999), None)).contains("at least 10 us"));
}
