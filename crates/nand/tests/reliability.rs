//! The reliability of a package: configuration, draws and bad blocks.

use wordline_nand::reliability::{
    Coefficients, ErrorModel, Outlook, ReadOutcome, ReadsPer, Reliability, ReliabilityConfig, Stress,
};
use wordline_nand::PackageGeometry;

const SEED: u64 = 20_190_225;
const GEOMETRY: PackageGeometry = PackageGeometry { dies: 4, planes: 4, blocks: 2_000, pages: 576, page_bytes: 16_384 };

fn power_law() -> ReliabilityConfig {
    ReliabilityConfig { model: ErrorModel::PowerLaw, ..ReliabilityConfig::default() }
}

fn built(config: &ReliabilityConfig) -> Reliability {
    Reliability::new(config, &GEOMETRY, GEOMETRY.pages, SEED, 0).unwrap()
}

fn refusal(config: &ReliabilityConfig) -> String {
    Reliability::new(config, &GEOMETRY, GEOMETRY.pages, SEED, 0).unwrap_err().to_string()
}

/// Fails when `hits` of `trials` are more than five standard deviations from a probability.
fn assert_share(what: &str, hits: u64, trials: u64, probability: f64) {
    let (n, p) = (trials as f64, probability);
    let (mean, deviation) = (n * p, (n * p * (1.0 - p)).sqrt());
    assert!(
        (hits as f64 - mean).abs() <= 5.0 * deviation + 1e-3 * mean,
        "seed {SEED}: {what}: {hits} of {trials}, expected {mean} with deviation {deviation}"
    );
}

#[test]
fn nothing_fails_by_default() {
    let reliability = built(&ReliabilityConfig::default());
    let (mut stream, mut outlook) = (reliability.stream(), Outlook::default());
    let untouched = stream.clone();
    let worn = Stress { cycles: 1_000_000, hours: 1e6, reads: 1_000_000_000 };
    assert!(!reliability.has_errors() && !reliability.is_worn_out(u32::MAX) && reliability.endurance().is_none());
    assert_eq!(reliability.nop(), 1);
    assert_eq!(reliability.rber(&worn, 0), 0.0);
    assert_eq!(reliability.read(&mut stream, &mut outlook, &worn, 0), ReadOutcome::Corrected { retries: 0 });
    assert!(!reliability.program_fails(&mut stream, u32::MAX) && !reliability.erase_fails(&mut stream, u32::MAX));
    assert!((0..GEOMETRY.blocks).all(|block| !reliability.factory_bad(1, 1, block)));
    assert_eq!(stream, untouched, "a package without errors must not draw");
}

#[test]
fn endurance_ends_after_its_cycles() {
    let reliability = built(&ReliabilityConfig { endurance: 3_000, nop: 4, ..ReliabilityConfig::default() });
    assert!(!reliability.is_worn_out(2_999) && reliability.is_worn_out(3_000));
    assert_eq!((reliability.endurance(), reliability.nop()), (Some(3_000), 4));
}

#[test]
fn page_failure_follows_from_rate_and_code() {
    // Codewords of 512 bytes with no correction: a page of 131,072 bits survives with (1 - rber)^131,072.
    let config = ReliabilityConfig {
        coefficients: Coefficients::Custom,
        epsilon: Some(1e-5),
        alpha: Some(0.0),
        k: Some(1.0),
        beta: Some(0.0),
        m: Some(1.0),
        n: Some(1.0),
        gamma: Some(1e-9),
        p: Some(0.0),
        q: Some(1.0),
        ecc_bits: 0,
        ecc_codeword_bytes: 512,
        retry_rber_factor: 0.5,
        page_class_factors: vec![1.0, 0.1],
        ..power_law()
    };
    let stress = Stress { cycles: 7, hours: 5.0, reads: 5_760_000 };
    for (reads_per, reads) in [(ReadsPer::Page, 10_000.0), (ReadsPer::Block, 5_760_000.0)] {
        let reliability = built(&ReliabilityConfig { reads_per: Some(reads_per), ..config.clone() });
        for (class, factor) in [(0, 1.0), (1, 0.1), (2, 1.0)] {
            let rber = (1e-5 + 1e-9 * reads) * factor;
            assert!((reliability.rber(&stress, class) / rber - 1.0).abs() < 1e-12);
            for retries in 0..3 {
                let seen = rber * 0.5_f64.powi(retries);
                let expected = -(131_072.0 * (-seen).ln_1p()).exp_m1();
                let got = reliability.page_failure(&stress, class, retries as u32);
                assert!((got / expected - 1.0).abs() < 1e-3, "{got} is not {expected}");
            }
        }
    }
}

#[test]
fn failure_grows_with_every_stress() {
    for (coefficients, ecc_bits) in [(Coefficients::Tlc72l, 72), (Coefficients::Mlc2y, 24)] {
        let reliability = built(&ReliabilityConfig { coefficients, ecc_bits, ..power_law() });
        let failure = |cycles, hours, reads| reliability.page_failure(&Stress { cycles, hours, reads }, 0, 0);
        let ladder = |at: &dyn Fn(u32) -> f64| {
            let steps: Vec<f64> = (0..200).map(at).collect();
            assert!(steps.windows(2).all(|pair| pair[0] <= pair[1]), "{coefficients:?}: {steps:?}");
            assert!(steps[199] > 1.01 * steps[0], "{coefficients:?}: {} to {}", steps[0], steps[199]);
        };
        ladder(&|i| failure(100 * i, 24.0, 1_000));
        ladder(&|i| failure(2_500, 50.0 * f64::from(i), 1_000));
        ladder(&|i| failure(2_500, 24.0, 20_000 * u64::from(i)));
    }
}

#[test]
fn reads_fail_as_often_as_they_should() {
    let config = ReliabilityConfig { read_retries: 2, retry_rber_factor: 0.9, ..power_law() };
    let reliability = built(&config);
    let trials = 400_000;
    // From rarely to nearly always at the first attempt, over the life of a block.
    let mut seen_failure = [false; 2];
    for (cycles, hours) in [(2_000, 100.0), (3_000, 1_000.0), (3_000, 2_500.0), (3_500, 4_000.0), (3_500, 8_000.0)] {
        let stress = Stress { cycles, hours, reads: 40_000 };
        let (mut stream, mut outlook) = (reliability.stream(), Outlook::default());
        let mut endings = [0_u64; 4];
        for _ in 0..trials {
            match reliability.read(&mut stream, &mut outlook, &stress, 0) {
                ReadOutcome::Corrected { retries } => endings[retries as usize] += 1,
                ReadOutcome::Uncorrectable { retries } => {
                    assert_eq!(retries, 2);
                    endings[3] += 1;
                }
            }
        }
        let failing: Vec<f64> = (0..3).map(|retries| reliability.page_failure(&stress, 0, retries)).collect();
        assert_share("more than 0 retries", endings[1] + endings[2] + endings[3], trials, failing[0]);
        assert_share("more than 1 retry", endings[2] + endings[3], trials, failing[1]);
        assert_share("uncorrectable", endings[3], trials, failing[2]);
        seen_failure[0] |= endings[1] > 100;
        seen_failure[1] |= endings[3] > 100;
    }
    assert_eq!(seen_failure, [true, true], "the states of this test must make pages fail");
}

#[test]
fn an_outlook_changes_no_result() {
    let reliability = built(&ReliabilityConfig { page_class_factors: vec![0.5, 1.0, 1.2], ..power_law() });
    let (mut with, mut without) = (reliability.stream(), reliability.stream());
    let mut outlook = Outlook::default();
    let mut retried = 0;
    for life in 0..6_u32 {
        for read in 0..20_000_u32 {
            // Pages of different age, in a block whose cycles increase and, with another block's outlook, decrease
            // again.
            let stress = Stress {
                cycles: 4_000 - 500 * life.abs_diff(3),
                hours: f64::from(read % 7) * 400.0 + f64::from(read) * 0.1,
                reads: u64::from(read) * 20,
            };
            let class = (read % 3) as usize;
            let kept = reliability.read(&mut with, &mut outlook, &stress, class);
            let fresh = reliability.read(&mut without, &mut Outlook::default(), &stress, class);
            assert_eq!(kept, fresh, "{stress:?}");
            retried += kept.retries();
        }
    }
    assert!(retried > 1_000, "only {retried} retries: the test shows nothing");
}

#[test]
fn programs_and_erases_fail_more_with_age() {
    let config = ReliabilityConfig {
        endurance: 1_000,
        program_fail: 0.02,
        erase_fail: 0.16,
        fail_exponent: 3.0,
        ..ReliabilityConfig::default()
    };
    let reliability = built(&config);
    assert_eq!(reliability.program_failure(0), 0.0);
    // (1/2)^3 and 2^3 times the probability at the end.
    assert!((reliability.program_failure(500) - 0.002_5).abs() < 1e-15);
    assert!((reliability.program_failure(1_000) - 0.02).abs() < 1e-15);
    assert!((reliability.program_failure(2_000) - 0.16).abs() < 1e-15);
    assert_eq!(reliability.erase_failure(2_000), 1.0);
    let (mut stream, trials) = (reliability.stream(), 200_000);
    for cycles in [0, 500, 1_000, 1_500, 2_000] {
        let programs = (0..trials).filter(|_| reliability.program_fails(&mut stream, cycles)).count() as u64;
        assert_share("programs", programs, trials, reliability.program_failure(cycles));
        let erases = (0..trials).filter(|_| reliability.erase_fails(&mut stream, cycles)).count() as u64;
        assert_share("erases", erases, trials, reliability.erase_failure(cycles));
    }
}

#[test]
fn factory_bad_blocks_are_their_share_and_stay() {
    let config = ReliabilityConfig { factory_bad_percent: 2.0, ..ReliabilityConfig::default() };
    let map = |seed, instance| -> Vec<bool> {
        let reliability = Reliability::new(&config, &GEOMETRY, GEOMETRY.pages, seed, instance).unwrap();
        let planes = (0..GEOMETRY.dies).flat_map(|die| (0..GEOMETRY.planes).map(move |plane| (die, plane)));
        planes
            .flat_map(|(d, p)| (0..GEOMETRY.blocks).map(move |b| (d, p, b)))
            .map(|(d, p, b)| reliability.factory_bad(d, p, b))
            .collect()
    };
    let bad = map(SEED, 0);
    assert_share("bad blocks", bad.iter().filter(|&&b| b).count() as u64, bad.len() as u64, 0.02);
    assert_eq!(bad, map(SEED, 0));
    for other in [map(SEED, 1), map(SEED + 1, 0)] {
        assert_ne!(bad, other);
        // Independent maps share bad blocks only by chance.
        let both = bad.iter().zip(&other).filter(|(a, b)| **a && **b).count();
        assert_share("blocks bad in both", both as u64, bad.len() as u64, 0.02 * 0.02);
    }
    // At half of all blocks, 64 dies would not all be spared by chance.
    let config = ReliabilityConfig { factory_bad_percent: 50.0, ..ReliabilityConfig::default() };
    let many_dies = PackageGeometry { dies: 64, ..GEOMETRY };
    let reliability = Reliability::new(&config, &many_dies, GEOMETRY.pages, SEED, 0).unwrap();
    assert!((0..64).all(|die| !reliability.factory_bad(die, 0, 0)));
}

#[test]
fn errors_name_the_key_and_the_remedy() {
    let off = ReliabilityConfig::default;
    for (config, shown) in [
        (
            ReliabilityConfig { coefficients: Coefficients::Custom, epsilon: Some(1e-4), ..power_law() },
            "alpha = nothing: has to be given when coefficients = 'custom'",
        ),
        (ReliabilityConfig { epsilon: Some(0.7), ..power_law() }, "epsilon = 0.7: must lie between 0 and 0.5"),
        (ReliabilityConfig { n: Some(f64::NAN), ..power_law() }, "n = NaN: must lie between 0 and 10"),
        (
            ReliabilityConfig { ecc_codeword_bytes: 3_000, ..power_law() },
            "ecc_codeword_bytes = 3000: must divide the page of 16384 bytes",
        ),
        (
            ReliabilityConfig { ecc_codeword_bytes: 0, ..power_law() },
            "ecc_codeword_bytes = 0: must divide the page of 16384 bytes",
        ),
        (
            ReliabilityConfig { ecc_bits: 4_096, ..power_law() },
            "ecc_bits = 4096: must be below 4096, half of the 8192 bits of a codeword",
        ),
        (
            ReliabilityConfig { page_class_factors: vec![1.0; 5], ..power_law() },
            "page_class_factors = [1.0, 1.0, 1.0, 1.0, 1.0]: has more than the 4 classes of QLC",
        ),
        (
            ReliabilityConfig { page_class_factors: vec![1.0, -1.0], ..power_law() },
            "page_class_factors = -1: must lie between 0 and 1000",
        ),
        (ReliabilityConfig { nop: 0, ..off() }, "nop = 0: must lie between 1 and 16"),
        (ReliabilityConfig { read_retries: 256, ..off() }, "read_retries = 256: must lie between 0 and 255"),
        (ReliabilityConfig { retention_hours: -1.0, ..off() }, "retention_hours = -1: must lie between 0 and 8766000"),
        (
            ReliabilityConfig { retry_rber_factor: 0.0, ..off() },
            "retry_rber_factor = 0: must be above 0: a retry does not remove all errors",
        ),
        (ReliabilityConfig { retry_rber_factor: 1.5, ..off() }, "retry_rber_factor = 1.5: must lie between 0 and 1"),
        (
            ReliabilityConfig { factory_bad_percent: 51.0, ..off() },
            "factory_bad_percent = 51: must lie between 0 and 50",
        ),
        (
            ReliabilityConfig { erase_fail: 0.1, ..off() },
            "erase_fail = 0.1: is the probability at the end of endurance: give endurance, in program/erase cycles",
        ),
        (ReliabilityConfig { fail_exponent: -2.0, ..off() }, "fail_exponent = -2: must lie between 0 and 100"),
    ] {
        assert_eq!(refusal(&config), shown);
    }
}
