//! Unique names of devices in a format.

use std::collections::HashSet;

/// The form of device names in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `host,disk`, as two columns.
    HostAndDisk,
    /// A number.
    Number,
    /// One word: no spaces, commas or quotes.
    Word,
    /// Unchanged.
    Verbatim,
}

/// Written device names of a trace.
pub(super) struct Names {
    style: Style,
    /// By the device's number.
    written: Vec<String>,
    taken: HashSet<String>,
}

/// `name` as one word without separators.
fn word(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "._-/:+@".contains(c) { c } else { '_' };
    match name.trim() {
        "" => "_".to_owned(),
        // A line that begins with this mark is a comment.
        name => name.chars().map(plain).collect(),
    }
}

/// Host and number of a disk: `hm_1` is disk 1 of `hm`.
fn host_and_disk(name: &str) -> (String, u32) {
    match name.rsplit_once('_').and_then(|(host, disk)| Some((host, disk.parse::<u32>().ok()?))) {
        Some((host, disk)) if !host.is_empty() => (word(host), disk),
        _ => match name.parse::<u32>() {
            Ok(disk) => ("disk".to_owned(), disk),
            Err(_) => (word(name), 0),
        },
    }
}

impl Names {
    pub fn new(style: Style) -> Self {
        Self { style, written: Vec::new(), taken: HashSet::new() }
    }

    /// Names the new ones of `devices`; true if there were any.
    #[inline]
    pub fn learn(&mut self, devices: &[String]) -> bool {
        let new = self.written.len() < devices.len();
        if new {
            for name in &devices[self.written.len()..] {
                let name = self.free(name);
                self.taken.insert(name.clone());
                self.written.push(name);
            }
        }
        new
    }

    /// Name of the device with this number; none if the trace names none.
    #[inline]
    pub fn get(&self, device: u32) -> Option<&str> {
        self.written.get(device as usize).map(String::as_str)
    }

    /// A unique name for `name`.
    fn free(&self, name: &str) -> String {
        let candidate: Box<dyn Fn(u32) -> String> = match self.style {
            Style::HostAndDisk => {
                let (host, disk) = host_and_disk(name);
                Box::new(move |n| format!("{host},{}", disk.wrapping_add(n)))
            }
            Style::Number => {
                let own = name.parse::<u32>();
                Box::new(move |n| match (n, own.as_ref()) {
                    (0, Ok(own)) => own.to_string(),
                    (n, _) => n.to_string(),
                })
            }
            Style::Word => {
                let name = word(name);
                Box::new(move |n| if n == 0 { name.clone() } else { format!("{name}.{n}") })
            }
            Style::Verbatim => {
                let name = name.to_owned();
                Box::new(move |_| name.clone())
            }
        };
        (0..=u32::MAX)
            .map(candidate)
            .find(|name| self.style == Style::Verbatim || !self.taken.contains(name))
            .expect("there are more numbers than devices")
    }

    pub fn finish(self) -> Vec<String> {
        let shown = |name: String| if self.style == Style::HostAndDisk { name.replace(',', "_") } else { name };
        self.written.into_iter().map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(style: Style, devices: &[&str]) -> Vec<String> {
        let mut names = Names::new(style);
        let devices: Vec<_> = devices.iter().map(|&name| name.to_owned()).collect();
        assert!(names.learn(&devices[..1]));
        assert!(names.learn(&devices));
        assert!(!names.learn(&devices));
        (0..devices.len()).map(|n| names.get(n as u32).unwrap().to_owned()).collect()
    }

    #[test]
    fn each_device_has_a_name_of_its_own() {
        let hosts = written(Style::HostAndDisk, &["hm_1", "hm", "hm_0", "3", "a b,c"]);
        assert_eq!(hosts, ["hm,1", "hm,0", "hm,2", "disk,3", "a_b_c,0"]);
        assert_eq!(written(Style::Number, &["7", "hm_0", "0", "7 "]), ["7", "0", "1", "2"]);
        assert_eq!(written(Style::Word, &["a b", "a_b", "sda"]), ["a_b", "a_b.1", "sda"]);
        assert_eq!(written(Style::Verbatim, &["a b", "c"]), ["a b", "c"]);
        assert_eq!(Names::new(Style::Word).get(0), None);
    }
}
