//! Job files as a whole.

use super::*;
use crate::job::{RateProcess, Rw, Sequencer};

fn jobs(text: &str) -> Vec<FioJob> {
    FioFile::parse(text, &[]).unwrap_or_else(|wrong| panic!("{wrong:?}")).jobs
}

fn job(options: &str) -> JobOptions {
    jobs(&format!("[a]\nioengine=libaio\n{options}\n")).remove(0).job
}

fn refused(options: &str) -> String {
    let wrong = FioFile::parse(&format!("[a]\n{options}\n"), &[]).expect_err(options);
    assert!(matches!(wrong.place, Place::Line(2.., 1)), "{options}: {wrong:?}");
    format!("{}: {}", wrong.text, wrong.problem)
}

#[test]
fn globals_hold_for_the_jobs_below_them() {
    let text =
        "[global]\nbs=8k\nrw=randread\nioengine=io_uring\n[a]\n[b]\nbs=16k\niodepth=8\n[global]\nrw=write\n[b]\n";
    let jobs = jobs(text);
    let seen: Vec<_> = jobs.iter().map(|j| (j.job.name.as_deref().unwrap(), &j.job.bs.0[..], j.job.rw)).collect();
    assert_eq!(seen, [("a", "8192", Rw::RandRead), ("b", "16384", Rw::RandRead), ("b#2", "8192", Rw::Write)]);
    assert_eq!(jobs[2].title, "b");
    assert_eq!(jobs[1].options, [("bs", "16k"), ("iodepth", "8")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    assert_eq!(jobs[1].places["bs"], ("bs", Place::Line(7, 1)));
    assert_eq!(jobs[0].places["bs"], ("bs", Place::Line(2, 1)));
}

#[test]
fn options_become_what_they_mean() {
    let got = job("readwrite=randrw:4\nrw_sequencer=identical\nbssplit=4k/60:64k/,8k/100\nrwmixwrite=30\niodepth=32");
    assert_eq!((got.rw, got.rw_modifier, got.rw_sequencer), (Rw::RandRw, Some("4".into()), Sequencer::Identical));
    assert_eq!((got.bssplit.as_deref(), got.rwmixread, got.iodepth), (Some("4096/60:65536/,8192/100"), 70, 32));
    let got = job("bsrange=4k:16k/1k-2k\nsize=20%\nio_limit=1g\noffset=1m\noffset_increment=10%\nnumjobs=4\nloops=2");
    assert_eq!(got.bsrange.as_deref(), Some("4096:16384,1024-2048"));
    assert_eq!((got.size, got.io_size, got.offset), (Some("20%".into()), Some("1073741824".into()), "1048576".into()));
    assert_eq!((got.offset_increment, got.numjobs, got.loops), (Some("10%".into()), 4, 2));
    let got = job("rate_iops=1k,500\nrate_process=poisson\nthinktime=2ms\nthinktime_blocks=8\nfsync=32\nsync=dsync");
    assert_eq!((got.rate_iops_each.as_deref(), got.rate_process), (Some("1024,500"), RateProcess::Poisson));
    assert_eq!((got.thinktime_us, got.thinktime_blocks, got.fsync, got.fua), (2000.0, 8, 32, true));
    let got =
        job("rate=1m,,2m\nruntime=1m\ntime_based\nramp_time=500ms\nstartdelay=2\nrandseed=7\nstonewall\nnew_group=0");
    assert_eq!((got.rate, got.runtime_s, got.time_based), (Some("1048576,,2097152".into()), Some(60.0), true));
    assert_eq!((got.ramp_time_s, got.start_delay_s, got.randseed), (0.5, 2.0, Some(7)));
    assert_eq!((got.stonewall, got.new_group), (true, false));
    let got =
        job("rw=randread\nss=iops_slope:0.3%\nss_dur=30m\nsteadystate_ramp_time=10\nrandom_distribution=zoned_abs:60/1k:40/2mib");
    assert_eq!((got.steadystate.as_deref(), got.ss_dur_s, got.ss_ramp_s), (Some("iops_slope:0.3%"), 1800.0, 10.0));
    assert_eq!(got.random_distribution, "zoned_abs:60/1024:40/2000000");
    assert_eq!(job("bs=4k\nkb_base=1000").bs, "4000".into(), "wherever kb_base stands");
    assert_eq!(job("bs=,8k,").bs, ",8192,".into());
    assert_eq!(job("bsrange=4k-8k\nbs=16k").bsrange, None, "the later one holds");
    assert!(job("blockalign=8k").norandommap, "fio gives up its map there");
    assert_eq!(job("number_ios=5").io_size, Some("100%".into()), "it never makes a job longer");
    assert_eq!((job("io_size=0").io_size, job("number_ios=0").number_ios), (None, None), "0 is the default");
    assert_eq!(job("runtime=0").runtime_s, None);
    assert_eq!(jobs("[a]\npercentile_list=99.9:50\n")[0].percentiles, [50.0, 99.9]);
    assert_eq!(jobs("[global]\nrandom_distribution=zipf:1.1\n[a]\nrw=read\n[b]\nrw=randread\n").len(), 2, "as in fio");
    let got = job("rw = randrw\nbs = 4096\nbssplit = 4k/50:8k/50\nrwmixread = 30");
    assert_eq!((got.rw, got.bs, got.rwmixread), (Rw::RandRw, "4096".into(), 30), "blanks that fio reads over");
    for empty in [
        "direct=1",
        "direct",
        "buffered=0",
        "group_reporting",
        "filename=/dev/nvme0n1",
        "verify=0",
        "thread",
        "iodepth_batch=1",
    ] {
        job(empty);
    }
}

#[test]
fn what_would_mean_something_else_is_refused() {
    for (options, wanted) in [
        ("direct=0", "direct=0: there is no page cache"),
        ("buffered=1", "there is no page cache"),
        ("ioengine=psync\niodepth=4", "iodepth=4: ioengine=psync does one request at a time"),
        ("iodepth=4", "fio's engine unless another is named, psync, does one request at a time"),
        ("ioengine=mmap", "this engine does not send requests directly"),
        ("ioengine=libio", "did you mean `libaio`?"),
        ("verify=md5", "verify=md5: data are not modelled"),
        ("nrfiles=4", "there are no files"),
        ("zonemode=zbd", "zones of a drive are not modelled"),
        ("exitall", "exitall: jobs do not end each other"),
        ("filename=/dev/sda:/dev/sdb", "names several files"),
        ("percentage_random=50", "a job is random or sequential as a whole"),
        ("random_distribution=zipf:1.2:0.3", "cannot be moved"),
        ("ioengine=libaio\niodepth=8\niodepth_low=2", "iodepth_low=2: requests are sent one by one"),
        ("fsync=4\nfdatasync=4", "fdatasync=4: is the same flush"),
        ("ss_dur=4", "is for steadystate, which is not given"),
        ("thinktime_blocks=4", "is for thinktime"),
        ("startdelay=5-10", "must be one time"),
        ("latency_target=5", "is an option of fio that has no counterpart"),
        ("iodpth=4", "iodpth=4: no such option; did you mean `iodepth`?"),
        ("BS=4k", "no such option; did you mean `bs`?"),
        ("rw=randreed", "did you mean `randread`?"),
        ("rw=randread:x", "the number behind the colon must be a number"),
        ("bs=4x", "`4x` `x` is no suffix"),
        ("bs=4 k", "bs=4 k: `4 k` has a blank before `k`"),
        ("bs = 4k", "`4k` has a blank in front"),
        ("bs=4k, 8k", "`8k` has a blank in front"),
        ("bssplit=4k/50: 8k/50", "`8k` has a blank in front"),
        ("bsrange=4k - 16k", "`16k` has a blank in front"),
        ("size = 50%", "fio reads it as 50 bytes"),
        ("runtime=1 m", "has a blank before `m`"),
        ("bs=0x1k", "is hexadecimal"),
        ("rw=write\nsteadystate=iops:2%", "steadystate=iops:2%: needs ss_dur"),
        (
            "random_distribution=zipf:1.1\nrw=read",
            "zipf:1.1: has no effect in a sequential job, and this one has rw=read",
        ),
        ("random_distribution=zipf:1.1", "as all are without rw"),
        ("bssplit=4k/50:x/50", "`x` must be a number"),
        ("numjobs=0", "must be 1 or more"),
        ("rwmixread=101", "must be a percentage, 0 to 100"),
        ("size=1.5g", "has a fraction"),
        ("size=", "size=: needs a value"),
        ("rw", "rw: needs a value"),
        ("time_based=yes", "must be 0 or 1"),
        ("kb_base=1001", "must be 1024 or 1000"),
        ("percentile_list=50:0", "must be percentages"),
        ("bs=junk\nbs=4k", "must be a number"),
    ] {
        let text = refused(options);
        assert!(text.contains(wanted), "{options}: {text}");
    }
    let two = FioFile::parse("[a]\nfilename=/dev/sda\n[b]\nfilename=/dev/sdb\n", &[]).unwrap_err();
    assert!(two.problem.contains("another job has filename=/dev/sda"), "{two:?}");
}

#[test]
fn the_command_line_overrides_all_jobs_or_one() {
    let sets = |sets: &[&str]| sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>();
    let text = "[global]\nioengine=libaio\n[a]\nbs=8k\n[b.x]\n";
    let file = FioFile::parse(text, &sets(&["iodepth=4", "b.x.bs=16k", "a.rw=write"])).unwrap();
    let seen: Vec<_> = file.jobs.iter().map(|j| (j.job.iodepth, &j.job.bs.0[..], j.job.rw)).collect();
    assert_eq!(seen, [(4, "8192", Rw::Write), (4, "16384", Rw::Read)]);
    for (set, wanted) in [("c.bs=4k", "no job [c]"), ("iodpth=2", "did you mean"), ("bs=x", "must be a number")] {
        let wrong = FioFile::parse(text, &sets(&[set])).unwrap_err();
        assert!(wrong.place == Place::Set(set.to_owned()) && wrong.problem.contains(wanted), "{wrong:?}");
    }
}

/// Whatever stands in a file, the reader answers.
#[test]
fn random_files_are_read_or_refused() {
    use wordline_base::Stream;
    let mut random = Stream::new(11, "fio-fuzz", 0);
    let names: Vec<&str> = known::names().chain(known::FOREIGN.iter().copied()).chain(["x", ""]).collect();
    let values = [
        "1",
        "0",
        "",
        "4k",
        "-1",
        "1%",
        "100%",
        "randrw:8",
        "rw:4k",
        "4k/50:8k/",
        "zipf:1.1",
        "zoned:50/5:30/15:20/",
        "iops:2%",
        "1:2:3",
        ",,,",
        "4k,8k,16k",
        "\u{1F600}",
        "99999999999999999999",
        "0x",
        "4ki",
        "libaio",
        "none",
        "5s",
        "/",
        ":",
        "zoned_abs:1/1",
        "4k-8k",
    ];
    let pick = |random: &mut Stream, n: usize| random.below(n as u64) as usize;
    let (mut read, mut opened) = (0, 0);
    for _ in 0..20_000 {
        let mut text = String::from(["[a]\n", "[global]\n", "", "[a\n"][pick(&mut random, 4)]);
        for _ in 0..random.below(5) {
            let (name, value) = (names[pick(&mut random, names.len())], values[pick(&mut random, values.len())]);
            text += &format!("{name}{}{value}\n", ["=", "", " = "][pick(&mut random, 3)]);
            if random.below(6) == 0 {
                text += "[b]\n";
            }
        }
        let Ok(file) = FioFile::parse(&text, &[]) else { continue };
        read += 1;
        // Thousands of clones are right, and slow.
        if file.jobs.is_empty() || file.jobs.iter().any(|job| job.job.numjobs > 64) {
            continue;
        }
        let Ok(mut load) = crate::Load::open(&file.load(), Path::new("."), 64 << 20, 1) else { continue };
        opened += 1;
        for stream in &mut load.streams {
            for _ in 0..100 {
                let Ok(Some(request)) = stream.next() else { break };
                assert!(request.offset + u64::from(request.bytes) <= 64 << 20, "{text}");
            }
        }
    }
    assert!(read > 500 && opened > 100, "{read} {opened}");
}

#[test]
fn messages_have_the_words_of_the_file() {
    let text = "there is rate_iops_each as well; needs `runtime_s`, fsync and not my_runtime_s";
    assert_eq!(fio_words(text), "there is rate_iops as well; needs `runtime`, fsync and not my_runtime_s");
}
