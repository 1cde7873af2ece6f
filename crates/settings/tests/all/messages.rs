//! The exact text for every kind of mistake, with positions counted by hand.

use crate::common::message;

/// Asserts the message of each text without overrides.
fn all(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(message(text, &[]), *expected, "for {text:?}");
    }
}

#[test]
fn unknown_keys() {
    all(&[
        (
            "[geometry]\n  chanels = 8\n",
            "my.toml:2:3: unknown key 'geometry.chanels' (value 8); did you mean 'geometry.channels'?",
        ),
        ("[geomtry]\nx = 1", "my.toml:1:2: unknown key 'geomtry' (a table); did you mean 'geometry'?"),
        (
            "name = \"a\"\ngeometry = { dies = 1, zzz = \"q\" }",
            "my.toml:2:24: unknown key 'geometry.zzz' (value \"q\"); \
             the keys of 'geometry' are: channels, dies, spare, order, paired, seed",
        ),
        (
            "zzz = [1]",
            "my.toml:1:1: unknown key 'zzz' (an array of 1 element); \
             the top-level keys are: name, geometry, nand, victim, job, namespace, start, link, notes",
        ),
        // A key of another section: the message names that section.
        ("channels = 4", "my.toml:1:1: unknown key 'channels' (value 4); did you mean 'geometry.channels'?"),
        (
            "[[job]]\nrw = \"read\"\n[[job]]\nrw = \"read\"\n dept = 3",
            "my.toml:5:2: unknown key 'job.1.dept' (value 3); did you mean 'job.1.depth'?",
        ),
        (
            "[namespace.'a b']\nname = 3",
            "my.toml:2:1: unknown key 'namespace.\"a b\".name' (value 3); the keys of 'namespace.\"a b\"' are: size_gib",
        ),
        // Columns count characters, not bytes.
        ("victim = { 'é' = 1 }", "my.toml:1:12: unknown key 'victim.\"é\"' (value 1); the keys of 'victim' with policy 'greedy' are: policy"),
    ]);
}

#[test]
fn keys_without_their_unit_or_with_another() {
    all(&[
        (
            "[nand]\nread = 50",
            "my.toml:2:1: unknown key 'nand.read' (value 50); write 'read_us' (the unit is part of the name)",
        ),
        (
            "[nand]\nread_ns = 50000",
            "my.toml:2:1: unknown key 'nand.read_ns' (value 50000); write 'read_us': \
             this key is in microseconds (us), so convert the value from nanoseconds",
        ),
        (
            "[nand]\nrate = 50",
            "my.toml:2:1: unknown key 'nand.rate' (value 50); write 'rate_mt_s' (the unit is part of the name)",
        ),
        (
            "[victim]\npolicy = 'cost_benefit'\nage = 1",
            "my.toml:3:1: unknown key 'victim.age' (value 1); write 'age_ms' (the unit is part of the name)",
        ),
    ]);
}

#[test]
fn units_in_values() {
    let start = "my.toml:2:11: 'nand.read_us' is";
    for (value, rest) in [
        ("'50us'", "\"50us\"; expected a number; the key already carries its unit (microseconds), write 50"),
        (
            "'50 ms'",
            "\"50 ms\"; expected a number; the key already carries its unit (microseconds), \
             convert the value from milliseconds and write the number alone",
        ),
        (
            "'50 ticks'",
            "\"50 ticks\"; expected a number; the key already carries its unit (microseconds), write the number alone",
        ),
        ("'50'", "\"50\"; expected a number; write 50 without quotes"),
        ("'fast'", "\"fast\"; expected a number"),
    ] {
        assert_eq!(message(&format!("[nand]\nread_us = {value}"), &[]), format!("{start} {rest}"));
    }
    assert_eq!(
        message("[geometry]\nchannels = '8x'", &[]),
        "my.toml:2:12: 'geometry.channels' is \"8x\"; expected an integer; write the number alone, without a unit"
    );
}

#[test]
fn numbers_out_of_range() {
    for (line, expected) in [
        ("channels = -8", "2:12: 'geometry.channels' is -8; the smallest is 1"),
        ("channels = 65", "2:12: 'geometry.channels' is 65; the largest is 64"),
        ("dies = 256", "2:8: 'geometry.dies' is 256; the largest is 255"),
        ("dies = -1", "2:8: 'geometry.dies' is -1; it cannot be negative: the smallest is 0"),
        (
            "seed = 18446744073709551616",
            "2:8: 'geometry.seed' is 18446744073709551616; the largest is 18446744073709551615",
        ),
        ("channels = 4.0", "2:12: 'geometry.channels' is 4.0; expected an integer; write 4"),
        ("channels = 4.5", "2:12: 'geometry.channels' is 4.5; expected an integer"),
        ("spare = 1", "2:9: 'geometry.spare' is 1; the largest is 0.9"),
        ("spare = -0.1", "2:9: 'geometry.spare' is -0.1; it cannot be negative: the smallest is 0"),
        ("spare = nan", "2:9: 'geometry.spare' is nan; expected a finite number"),
        ("order = [1, 2]", "2:9: 'geometry.order' is an array of 2 elements; expected exactly 4 elements"),
        ("order = [1, 2, 3, 300]", "2:19: 'geometry.order.3' is 300; the largest is 255"),
        (
            "dies = 1000000000000000000000000000000000000000",
            "2:8: the number 1000000000000000000000000000000000000000 is too large",
        ),
    ] {
        assert_eq!(message(&format!("[geometry]\n{line}\n"), &[]), format!("my.toml:{expected}"));
    }
    assert_eq!(
        message("namespace.a.size_gib = 3_000_000_000", &[]),
        "my.toml:1:24: 'namespace.a.size_gib' is 3000000000; the largest is 2147483647"
    );
    assert_eq!(
        message("nand = { read_us = 1, rate_mt_s = 65536 }", &[]),
        "my.toml:1:35: 'nand.rate_mt_s' is 65536; the largest is 65535"
    );
    assert_eq!(message("[notes]\nx = [1, inf]", &[]), "my.toml:2:9: 'notes.x.1' is inf; expected a finite number");
}

#[test]
fn wrong_types() {
    all(&[
        ("geometry = 3", "my.toml:1:12: 'geometry' is 3; expected a table"),
        ("name = 3", "my.toml:1:8: 'name' is 3; expected a string; write \"3\""),
        ("name = 2020-01-01", "my.toml:1:8: 'name' is 2020-01-01; expected a string; write \"2020-01-01\""),
        ("job = 3", "my.toml:1:7: 'job' is 3; expected an array of tables"),
        (
            "[job]\nrw = 'read'",
            "my.toml:1:1: 'job' is a table; expected an array of tables; write [[job]], in two pairs of brackets",
        ),
        (
            "geometry.paired = 'true'",
            "my.toml:1:19: 'geometry.paired' is \"true\"; expected true or false; write true without quotes",
        ),
        (
            "[nand]\nread_us = 1\ncell = 'SLC'",
            "my.toml:3:8: 'nand.cell' is \"SLC\"; expected one of tlc, slc, mlc; did you mean 'slc'?",
        ),
        ("[[job]]\nrw = 3", "my.toml:2:6: 'job.0.rw' is 3; expected one of read, write"),
    ]);
    assert_eq!(
        message("", &["name=3"]),
        "--set name=3: 'name' is 3; expected a string; write 'name=\"3\"', with both kinds of quotes"
    );
    let long = format!("victim = \"{}\"", "x".repeat(100));
    let shown = format!("my.toml:1:10: 'victim' is \"{}\"...; expected a table", "x".repeat(60));
    assert_eq!(message(&long, &[]), shown);
}

#[test]
fn tagged_enums() {
    all(&[
        (
            "victim.policy = 'gredy'",
            "my.toml:1:17: 'victim.policy' is \"gredy\"; \
             expected one of greedy, best_of, cost_benefit; did you mean 'greedy'?",
        ),
        ("victim.policy = 3", "my.toml:1:17: 'victim.policy' is 3; expected one of greedy, best_of, cost_benefit"),
        (
            "victim = 'best_of'",
            "my.toml:1:10: 'victim' is \"best_of\"; expected a table; write 'victim.policy = \"best_of\"'",
        ),
        (
            "[victim]\nd = 4",
            "my.toml:2:1: 'victim.d' (value 4) does not fit policy 'greedy' (the default); \
             it is an option of policy 'best_of'",
        ),
        (
            "[victim]\npolicy = 'greedy'\nd = 4",
            "my.toml:3:1: 'victim.d' (value 4) does not fit policy 'greedy'; it is an option of policy 'best_of'",
        ),
        (
            "extends = 'enterprise'\n[victim]\nage_ms = 4",
            "my.toml:3:1: 'victim.age_ms' (value 4) does not fit policy 'best_of' (set at preset:enterprise:5:10); \
             it is an option of policy 'cost_benefit'",
        ),
        (
            "extends = 'enterprise'\n[victim]\nzz = 4",
            "my.toml:3:1: unknown key 'victim.zz' (value 4); the keys of 'victim' with policy 'best_of' are: policy, d",
        ),
        (
            "[victim]\npolicy = 'best_of'\nd = '4'",
            "my.toml:3:5: 'victim.d' is \"4\"; expected an integer; write 4 without quotes",
        ),
        (
            "[victim]\npolicy = 'cost_benefit'",
            "my.toml:1:1: 'victim.age_ms' is missing; expected a number (Age that counts as old)",
        ),
    ]);
}

#[test]
fn missing_keys() {
    let missing = "'nand.read_us' is missing; expected a number (Time of a page read)";
    assert_eq!(message("name = 'a'\n[nand]\n", &["nand.cell=slc"]), format!("my.toml:2:1: {missing}"));
    assert_eq!(message("", &["nand.cell=slc"]), format!("--set nand.cell=slc: {missing}"));
    assert_eq!(
        message("[[job]]\nrw = 'read'\n[[job]]\n", &[]),
        "my.toml:3:1: 'job.1.rw' is missing; expected one of read, write (What it does)"
    );
}

#[test]
fn untagged_and_externally_tagged_enums() {
    all(&[
        ("start = 'now'", "my.toml:1:9: 'start' is \"now\"; expected an integer or a table or an array of numbers"),
        ("start = -3", "my.toml:1:9: 'start' is -3; it cannot be negative: the smallest is 0"),
        ("start.queue = 300", "my.toml:1:15: 'start.queue' is 300; the largest is 255"),
        ("start.que = 3", "my.toml:1:7: unknown key 'start.que' (value 3); did you mean 'start.queue'?"),
        ("start = [1, -2]", "my.toml:1:13: 'start.1' is -2; it cannot be negative: the smallest is 0"),
        ("link = 'idel'", "my.toml:1:8: 'link' is \"idel\"; expected \"ideal\" or a table; did you mean 'ideal'?"),
        ("link.sata.gb_s = -1", "my.toml:1:18: 'link.sata.gb_s' is -1; it cannot be negative: the smallest is 0"),
        ("link.sat = {}", "my.toml:1:6: unknown key 'link.sat' (a table); did you mean 'link.sata'?"),
    ]);
}

#[test]
fn what_only_the_section_itself_refuses() {
    let refused = "'job.0.depth' is 3; the depth must be a power of two";
    assert_eq!(message("[[job]]\nrw = 'read'\ndepth = 3", &[]), format!("my.toml:3:9: {refused}"));
    assert_eq!(message("extends = 'jobs'", &["job.0.depth=3"]), format!("--set job.0.depth=3: {refused}"));
}

#[test]
fn toml_syntax() {
    all(&[
        ("name = 'a'\nname = 'b'", "my.toml:2:1: not valid TOML: duplicate key\n  line 2: name = 'b'"),
        (
            "\u{feff}name = 'a'\r\n[geometry",
            "my.toml:2:10: not valid TOML: unclosed table, expected `]`\n  line 2: [geometry",
        ),
    ]);
    let error = crate::common::try_load("name = zzz", &[]).expect_err("a bare word is no TOML");
    assert!(error.to_string().starts_with("my.toml:1:8: not valid TOML: "), "{error}");
    assert_eq!(error.key(), None);
}

#[test]
fn set_overrides() {
    for (set, expected) in [
        ("victim.policy", "expected KEY=VALUE, for example --set victim.policy=VALUE"),
        ("", "expected KEY=VALUE, for example --set KEY=VALUE"),
        ("a b=3", "'a b' is not a key; expected KEY=VALUE, for example --set victim.policy=greedy"),
        ("=3", "'' is not a key; expected KEY=VALUE, for example --set victim.policy=greedy"),
        ("name=", "the value is empty; an empty string is written \"\", in quotes"),
        ("extends=jobs", "'extends' can only be written in a file"),
        ("victim.polcy=greedy", "unknown key 'victim.polcy' (value \"greedy\"); did you mean 'victim.policy'?"),
        (
            "nand.read_us=50us",
            "'nand.read_us' is \"50us\"; expected a number; the key already carries its unit (microseconds), write 50",
        ),
        ("victim=best_of", "'victim' is \"best_of\"; expected a table; write 'victim.policy = \"best_of\"'"),
        ("job.2.rw=read", "'job' is addressed at 2; 'job' has 2 elements, numbered 0 to 1"),
        ("job.1.rv=read", "unknown key 'job.1.rv' (value \"read\"); the keys of 'job.1' are: rw, depth"),
        (
            "job.x=read",
            "'job' is a table; expected an array of tables; address an element by its number, as in 'job.0'",
        ),
    ] {
        assert_eq!(message("extends = 'jobs'", &[set]), format!("--set {set}: {expected}"));
    }
    assert_eq!(
        message("", &["job.0.rw=read"]),
        "--set job.0.rw=read: 'job' is addressed at 0; 'job' has no elements here"
    );
    let broken = message("", &["name=\"x"]);
    assert!(broken.starts_with("--set name=\"x: the value is not valid TOML: "), "{broken}");
}

#[test]
fn extends() {
    all(&[
        (
            "extends = 'enterprize'",
            "my.toml:1:11: 'extends' names the unknown preset 'enterprize'; did you mean 'enterprise'? \
             The presets are: enterprise, consumer, loop_a, loop_b, jobs, waiting, halfway",
        ),
        (
            "extends = 3",
            "my.toml:1:11: 'extends' is 3; expected the name of a preset or the path of a file, as a string",
        ),
        ("extends = 'nowhere.toml'", "my.toml:1:11: 'extends' names the file 'nowhere.toml', which does not exist"),
        (
            "extends = 'loop_a'",
            "preset:loop_b:2:11: 'extends' goes in a circle: \
             my.toml -> preset:loop_a -> preset:loop_b -> preset:loop_a",
        ),
    ]);
}
