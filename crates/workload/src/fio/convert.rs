//! Conversion of the options of one job, with those of `[global]`, to a job.

use super::known::{self, ASYNCHRONOUS, FOREIGN, ONLY, SYNCHRONOUS, WITHOUT_MEANING};
use super::lines::Written;
use super::value::{bytes_or_percent, number, plain, switch, time_us, Base};
use super::{FioJob, Wrong};
use crate::error::{nearest, Place};
use crate::job::{Bytes, JobOptions, RateProcess, Rw, Sequencer};
use std::collections::BTreeMap;

/// Modes of `rw`.
const MODES: [(&str, Rw); 11] = [
    ("read", Rw::Read),
    ("write", Rw::Write),
    ("trim", Rw::Trim),
    ("randread", Rw::RandRead),
    ("randwrite", Rw::RandWrite),
    ("randtrim", Rw::RandTrim),
    ("rw", Rw::Rw),
    ("readwrite", Rw::Rw),
    ("randrw", Rw::RandRw),
    ("trimwrite", Rw::TrimWrite),
    ("randtrimwrite", Rw::RandTrimWrite),
];
/// Most percentiles in a list, as in fio.
const MOST_PERCENTILES: usize = 20;

const SECOND: u64 = 1_000_000;

/// A job in the making.
pub(crate) struct Draft<'a> {
    title: String,
    line: usize,
    job: JobOptions,
    base: Base,
    percentiles: Vec<f64>,
    /// The last writing of each option, by its first name.
    last: BTreeMap<&'static str, &'a Written>,
}

/// What an option makes of its value.
type Taken<T> = Result<T, String>;

impl<'a> Draft<'a> {
    /// Takes `options` in their order; a later one overrides an earlier one.
    pub fn new(title: &str, line: usize, options: &[&'a Written]) -> Result<Self, Wrong> {
        let mut draft = Self {
            title: title.to_owned(),
            line,
            job: JobOptions::default(),
            base: Base::Old,
            percentiles: Vec::new(),
            last: BTreeMap::new(),
        };
        for written in options {
            if let Some(name) = draft.check(written)? {
                draft.last.insert(name, written);
            }
        }
        // The meaning of suffixes is needed first, wherever it was written.
        if let Some(written) = draft.last.get("kb_base") {
            draft.base = match written.value.as_deref() {
                Some("1024") => Base::Old,
                Some("1000") => Base::Si,
                _ => return Err(Wrong::of(written, "must be 1024 or 1000")),
            };
        }
        for written in options {
            let Some(name) = known::meant(&written.name) else { continue };
            // Also what is overridden has to make sense, so that a mistake in it is seen.
            draft.take(name, written).map_err(|problem| Wrong::of(written, problem))?;
        }
        Ok(draft)
    }

    /// The first name of an option that means something; an error for one that is not taken.
    fn check(&self, written: &Written) -> Result<Option<&'static str>, Wrong> {
        let name = &written.name[..];
        if let Some(first) = known::meant(name) {
            return Ok(Some(first));
        }
        if WITHOUT_MEANING.contains(&name) {
            return Ok(None);
        }
        if let Some((_, values, why)) = ONLY.iter().find(|(only, ..)| *only == name) {
            let value = written.value.as_deref().unwrap_or("1");
            if values.contains(&value) {
                return Ok(None);
            }
            return Err(Wrong::of(written, format!("{why}; leave it out, or give {}", values.join(" or "))));
        }
        let near = nearest(name, known::names());
        let problem = if FOREIGN.contains(&name) {
            format!("is an option of fio that has no counterpart on a modelled drive; leave it out{near}")
        } else {
            format!("no such option{near}")
        };
        Err(Wrong::of(written, problem))
    }

    fn take(&mut self, name: &'static str, written: &Written) -> Taken<()> {
        let base = self.base;
        let switched = || switch(written.value.as_deref());
        let switches: Option<&mut bool> = match name {
            "norandommap" => Some(&mut self.job.norandommap),
            "time_based" => Some(&mut self.job.time_based),
            "stonewall" => Some(&mut self.job.stonewall),
            "new_group" => Some(&mut self.job.new_group),
            "group_reporting" => Some(&mut self.job.group_reporting),
            _ => None,
        };
        if let Some(place) = switches {
            *place = switched()?;
            return Ok(());
        }
        match name {
            "direct" | "clat_percentiles" => return self.stay(name, switched()?, true),
            "buffered" => return self.stay(name, switched()?, false),
            _ => {}
        }
        let Some(text) = written.value.as_deref().filter(|text| !text.is_empty()) else {
            return Err("needs a value".to_owned());
        };
        // Numbers are read as they are written, with the blank in front.
        let gap = if written.gap { format!(" {text}") } else { String::new() };
        let (word, text) = (text, if written.gap { &gap[..] } else { text });
        let count = |least: u64| whole(text, base, least).map(|count| count as u32);
        let job = &mut self.job;
        match name {
            "name" => self.title = word.to_owned(),
            "rw" => (job.rw, job.rw_modifier) = mode(word, base)?,
            "rw_sequencer" => {
                job.rw_sequencer =
                    one_of(word, &[("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)])?
            }
            "bs" => (job.bs, job.bsrange) = (Bytes(plain(text, &[','], base)?), None),
            "bsrange" => job.bsrange = Some(range(text, base)?),
            "bssplit" => job.bssplit = Some(split(word, base)?),
            "blockalign" => {
                job.blockalign = Some(Bytes(plain(text, &[','], base)?));
                job.norandommap = true;
            }
            "rwmixread" => job.rwmixread = percent(text)?,
            "rwmixwrite" => job.rwmixread = 100 - percent(text)?,
            "size" => job.size = Some(Bytes(bytes_or_percent(text, base)?)),
            // 0 stands for the default.
            "io_size" => job.io_size = Some(Bytes(bytes_or_percent(text, base)?)).filter(|size| size.0 != "0"),
            "offset" => job.offset = Bytes(bytes_or_percent(text, base)?),
            "offset_increment" => job.offset_increment = Some(Bytes(bytes_or_percent(text, base)?)),
            "number_ios" => job.number_ios = Some(number(text, base)?).filter(|&count| count > 0),
            "loops" => job.loops = count(1)?,
            "numjobs" => job.numjobs = count(1)?,
            "iodepth" => job.iodepth = count(1)?,
            "iodepth_low" | "iodepth_batch" => drop(count(0)?),
            "rate" => job.rate = Some(Bytes(plain(text, &[','], base)?)),
            "rate_iops" => job.rate_iops_each = Some(plain(text, &[','], base)?),
            "rate_process" => {
                job.rate_process = one_of(word, &[("linear", RateProcess::Linear), ("poisson", RateProcess::Poisson)])?;
            }
            "thinktime" => job.thinktime_us = time_us(text, 1)? as f64,
            "thinktime_blocks" => job.thinktime_blocks = count(1)?,
            "random_distribution" => job.random_distribution = distribution(word, base)?,
            "percentage_random" => every_request_random(word)?,
            "randseed" => job.randseed = Some(number(text, base)?),
            "runtime" => job.runtime_s = Some(seconds(text)?).filter(|&seconds| seconds > 0.0),
            "ramp_time" => job.ramp_time_s = seconds(text)?,
            "startdelay" => job.start_delay_s = seconds(text)?,
            "fsync" | "fdatasync" => job.fsync = count(0)?,
            "sync" => {
                job.fua = one_of(word, &[("0", false), ("none", false), ("1", true), ("sync", true), ("dsync", true)])?
            }
            "steadystate" => job.steadystate = Some(word.to_owned()),
            "steadystate_duration" => job.ss_dur_s = seconds(text)?,
            "steadystate_ramp_time" => job.ss_ramp_s = seconds(text)?,
            "steadystate_check_interval" => job.ss_interval_s = seconds(text)?,
            "ioengine" => engine(word)?,
            "filename" if text.contains(':') => {
                return Err("names several files, and the workload is for one drive".to_owned());
            }
            "percentile_list" => self.percentiles = percentiles(word)?,
            _ => {}
        }
        Ok(())
    }

    /// A switch that can only stand as it is.
    fn stay(&self, name: &str, value: bool, wanted: bool) -> Taken<()> {
        match (value == wanted, name) {
            (true, _) => Ok(()),
            (false, "clat_percentiles") => Err("completion latencies always have percentiles; leave it out".to_owned()),
            (false, _) => Err("there is no page cache: requests go to the drive; use direct=1".to_owned()),
        }
    }

    /// The job, when its options fit each other.
    pub fn finish(mut self) -> Result<FioJob, Wrong> {
        self.depth_fits_engine()?;
        for (name, fits) in [("iodepth_low", self.job.iodepth), ("iodepth_batch", 1)] {
            let Some(written) = self.last.get(name) else { continue };
            let value = written.value.as_deref().map_or(Ok(0), |text| whole(text, self.base, 0));
            if value.is_ok_and(|value| value != u64::from(fits) && value != 0) {
                let problem = format!("requests are sent one by one as others complete; leave it out, or give {fits}");
                return Err(Wrong::of(written, problem));
            }
        }
        if let (Some(written), Some(_)) = (self.last.get("fdatasync"), self.last.get("fsync")) {
            return Err(Wrong::of(
                written,
                "is the same flush to a drive as fsync, which is given too; give one of them",
            ));
        }
        for name in ["steadystate_duration", "steadystate_ramp_time", "steadystate_check_interval"] {
            if let (Some(written), None) = (self.last.get(name), &self.job.steadystate) {
                return Err(Wrong::of(written, "is for steadystate, which is not given"));
            }
        }
        if let (Some(written), None) = (self.last.get("steadystate"), self.last.get("steadystate_duration")) {
            let problem =
                "needs ss_dur, the length of the window that it looks at; fio ignores a steadystate without it";
            return Err(Wrong::of(written, problem));
        }
        if self.last.contains_key("thinktime_blocks") && !self.last.contains_key("thinktime") {
            return Err(Wrong::of(self.last["thinktime_blocks"], "is for thinktime, which is not given"));
        }
        // In fio a number of requests never makes a job longer.
        if self.job.number_ios.is_some() && self.job.io_size.is_none() {
            self.job.io_size = Some("100%".into());
        }
        let places = self.places();
        Ok(FioJob { title: self.title, job: self.job, options: BTreeMap::new(), percentiles: self.percentiles, places })
    }

    /// What a job says of itself has to mean something in it. fio passes over a distribution that a sequential job has from
    /// `[global]`, and so does this.
    pub fn means_something(&self, own: &dyn Fn(&Written) -> bool) -> Result<(), Wrong> {
        let Some(written) = self.last.get("random_distribution").filter(|written| own(written)) else { return Ok(()) };
        let random = MODES.iter().find(|(_, rw)| *rw == self.job.rw).is_some_and(|(name, _)| name.starts_with("rand"));
        if random || self.job.random_distribution == "random" {
            return Ok(());
        }
        let problem = match self.last.get("rw").and_then(|rw| rw.value.as_deref()) {
            Some(rw) => format!(
                "has no effect in a sequential job, and this one has rw={rw}; give rw=rand{rw}, or leave it out"
            ),
            None => {
                "has no effect in a sequential job, as all are without rw; give rw=randread, or leave it out".to_owned()
            }
        };
        Err(Wrong::of(written, problem))
    }

    /// Many requests in flight need an engine that keeps them.
    fn depth_fits_engine(&self) -> Result<(), Wrong> {
        let engine = self.last.get("ioengine").and_then(|written| written.value.as_deref());
        let one_at_a_time = engine.is_none_or(|engine| SYNCHRONOUS.contains(&engine));
        let Some(written) = self.last.get("iodepth").filter(|_| one_at_a_time && self.job.iodepth > 1) else {
            return Ok(());
        };
        let which = match engine {
            Some(engine) => format!("ioengine={engine}"),
            None => "fio's engine unless another is named, psync,".to_owned(),
        };
        let problem = format!(
            "{which} does one request at a time, so iodepth would have no effect; add ioengine=libaio or io_uring"
        );
        Err(Wrong::of(written, problem))
    }

    /// Where the keys of the job were written.
    fn places(&self) -> BTreeMap<&'static str, (&'static str, Place)> {
        let mut places: BTreeMap<_, _> =
            self.last.iter().map(|(&name, written)| (key_of(name), (name, written.place.clone()))).collect();
        places.entry("name").or_insert(("name", Place::Line(self.line, 1)));
        places
    }
}

/// Options of fio whose keys in a job have other names; of several for one key the first is the usual one.
const KEYS: [(&str, &str); 13] = [
    ("rwmixread", "rwmixread"),
    ("rwmixwrite", "rwmixread"),
    ("rate_iops", "rate_iops_each"),
    ("thinktime", "thinktime_us"),
    ("runtime", "runtime_s"),
    ("ramp_time", "ramp_time_s"),
    ("startdelay", "start_delay_s"),
    ("fsync", "fsync"),
    ("fdatasync", "fsync"),
    ("sync", "fua"),
    ("steadystate_duration", "ss_dur_s"),
    ("steadystate_ramp_time", "ss_ramp_s"),
    ("steadystate_check_interval", "ss_interval_s"),
];

/// The key of a job for an option of fio.
fn key_of(name: &'static str) -> &'static str {
    KEYS.iter().find(|(option, _)| *option == name).map_or(name, |(_, key)| key)
}

/// A text about a job with its keys in fio's words.
#[must_use]
pub fn fio_words(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        out.push_str(KEYS.iter().find(|(_, key)| *key == word).map_or(word, |(option, _)| option));
        rest = behind;
    }
    out
}

fn whole(text: &str, base: Base, least: u64) -> Taken<u64> {
    match number(text, base)? {
        count if count < least => Err(format!("must be {least} or more")),
        count if count > u64::from(u32::MAX) => Err(format!("must be at most {}", u32::MAX)),
        count => Ok(count),
    }
}

fn percent(text: &str) -> Taken<u32> {
    match number(text.strip_suffix('%').unwrap_or(text), Base::Si)? {
        percent @ 0..=100 => Ok(percent as u32),
        _ => Err("must be a percentage, 0 to 100".to_owned()),
    }
}

fn every_request_random(text: &str) -> Taken<()> {
    match text.split(',').all(|part| part.trim() == "100") {
        true => Ok(()),
        false => Err("a job is random or sequential as a whole; use two jobs".to_owned()),
    }
}

fn one_of<T: Copy>(text: &str, choices: &[(&str, T)]) -> Taken<T> {
    choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        format!("must be one of {}{}", names.join(", "), nearest(text, names.iter().copied()))
    })
}

/// `randread` or `randread:8`.
fn mode(text: &str, base: Base) -> Taken<(Rw, Option<Bytes>)> {
    let (word, modifier) = text.split_once(':').map_or((text, None), |(word, number)| (word, Some(number)));
    let rw = one_of(word.trim(), &MODES)?;
    let number =
        modifier.map(|text| number(text, base).map_err(|problem| format!("the number behind the colon {problem}")));
    Ok((rw, number.transpose()?.map(|number| Bytes(number.to_string()))))
}

fn engine(text: &str) -> Taken<()> {
    if ASYNCHRONOUS.contains(&text) || SYNCHRONOUS.contains(&text) {
        return Ok(());
    }
    let near = nearest(text, ASYNCHRONOUS.into_iter().chain(SYNCHRONOUS));
    Err(format!("this engine does not send requests directly to a drive; use libaio, io_uring or psync{near}"))
}

/// Ranges with their sets apart by commas, as the jobs take them.
fn range(text: &str, base: Base) -> Taken<String> {
    Ok(plain(text, &['-', ':', ',', '/'], base)?.replace('/', ","))
}

/// `4k/60:8k/40`: the numbers before the slashes are bytes, those behind them percentages.
fn split(text: &str, base: Base) -> Taken<String> {
    let part = |part: &str| {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        number(size, base)
            .map(|size| format!("{size}/{share}"))
            .map_err(|problem| format!("`{}` {problem}", size.trim()))
    };
    let set = |set: &str| match set.trim() {
        "" => Ok(String::new()),
        set => Ok(set.split(':').map(part).collect::<Taken<Vec<_>>>()?.join(":")),
    };
    Ok(text.split(',').map(set).collect::<Taken<Vec<_>>>()?.join(","))
}

/// Only the sizes of `zoned_abs` have suffixes.
fn distribution(text: &str, base: Base) -> Taken<String> {
    let Some(list) = text.strip_prefix("zoned_abs:").or_else(|| text.strip_prefix("zoned_abs=")) else {
        if text.matches(':').count() > 1 && !text.starts_with("zoned") {
            return Err("the centre of a distribution (the second number) cannot be moved; leave it out".to_owned());
        }
        return Ok(text.to_owned());
    };
    let part = |part: &str| {
        let (share, size) =
            part.split_once('/').ok_or_else(|| format!("`{part}` must be share/size, such as 60/20g"))?;
        number(size, base)
            .map(|size| format!("{share}/{size}"))
            .map_err(|problem| format!("`{}` {problem}", size.trim()))
    };
    let set = |set: &str| Ok(set.split(':').map(part).collect::<Taken<Vec<_>>>()?.join(":"));
    Ok(format!("zoned_abs:{}", list.split(',').map(set).collect::<Taken<Vec<_>>>()?.join(",")))
}

fn seconds(text: &str) -> Taken<f64> {
    match text.contains(['-', ':']) && !text.starts_with('-') {
        true => Err("must be one time; a range is drawn anew in every run of fio".to_owned()),
        false => time_us(text, SECOND).map(|us| us as f64 / 1e6),
    }
}

fn percentiles(text: &str) -> Taken<Vec<f64>> {
    let wanted = "must be percentages above 0 up to 100, separated by colons, such as 50:99:99.9";
    let one = |text: &str| text.trim().parse().ok().filter(|q: &f64| *q > 0.0 && *q <= 100.0);
    let mut list = text.split(':').map(one).collect::<Option<Vec<f64>>>().ok_or_else(|| wanted.to_owned())?;
    if list.len() > MOST_PERCENTILES {
        return Err(format!("has {} percentiles; at most {MOST_PERCENTILES} can be given", list.len()));
    }
    list.sort_by(f64::total_cmp);
    Ok(list)
}
