//! TLS with keys that client and server share (PSK), as an engine over bytes: what came from the socket goes in, what is to be sent comes out.
//!
//! This file reads the keys; `engine` is the library, OpenSSL, which a build may leave out.

#[cfg(feature = "tls")]
mod engine;
#[cfg(not(feature = "tls"))]
#[path = "absent.rs"]
mod engine;

pub use engine::Channel;

use std::collections::HashMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use wordline_workload::system_words;

/// A shorter key could be found by trying: 128 bits.
const LEAST_KEY: usize = 16;
/// The longest key and name that OpenSSL takes, in bytes.
const MOST_KEY: usize = 256;
const MOST_NAME: usize = 128;

/// The users who may connect, each with a key.
#[derive(Clone)]
pub struct Keys {
    context: engine::Context,
    users: Vec<String>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("users", &self.users).finish_non_exhaustive()
    }
}

impl Keys {
    /// Reads a file of lines `user:key`, the key in hexadecimal, as `psktool` of GnuTLS writes it. Empty lines are passed over.
    ///
    /// # Errors
    /// With the line and what is wrong with it; never with a key.
    pub fn read(path: &Path) -> Result<Self, String> {
        let told = |problem: &str| format!("--tls-psk {}: {problem}", path.display());
        if let Some(reason) = engine::ABSENT {
            return Err(told(reason));
        }
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => told("there is no such file; psktool -u USER -p FILE makes one"),
            ErrorKind::InvalidData => told("not a text file; each line is USER:KEY, the key in hexadecimal"),
            _ => told(&system_words(&error)),
        })?;
        let keys = parse(&text).map_err(|(line, problem)| {
            format!("--tls-psk {}: {}{problem}", path.display(), line.map_or(String::new(), |n| format!("line {n}: ")))
        })?;
        let mut users: Vec<String> = keys.keys().cloned().collect();
        users.sort_unstable();
        let context =
            engine::context(keys).map_err(|error| told(&format!("the TLS library refuses to start: {error}")))?;
        Ok(Self { context, users })
    }

    /// Names of the users, in order.
    #[must_use]
    pub fn users(&self) -> &[String] {
        &self.users
    }
}

/// The keys of users, or the number of a line and what is wrong with it.
fn parse(text: &str) -> Result<HashMap<String, Vec<u8>>, (Option<usize>, String)> {
    let mut keys = HashMap::new();
    for (n, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |problem: String| Err((Some(n), problem));
        let Some((user, key)) = line.split_once(':') else {
            return wrong("no colon; a line is USER:KEY, the key in hexadecimal".into());
        };
        if user.is_empty() || user.len() > MOST_NAME {
            return wrong(format!("a user's name of {} bytes; 1 to {MOST_NAME} are possible", user.len()));
        }
        if user.starts_with('#') {
            return wrong(
                "a user's name that begins with #, which stands for a name in hexadecimal: not supported".into(),
            );
        }
        let key = match from_hex(key.trim_end()) {
            Ok(key) => key,
            Err(problem) => return wrong(format!("the key of '{user}' {problem}")),
        };
        if !(LEAST_KEY..=MOST_KEY).contains(&key.len()) {
            let bytes = key.len();
            return wrong(format!("the key of '{user}' has {bytes} bytes; {LEAST_KEY} to {MOST_KEY} are possible"));
        }
        if keys.insert(user.to_owned(), key).is_some() {
            return wrong(format!("a second key of '{user}'"));
        }
    }
    if keys.is_empty() {
        return Err((None, "no keys in it; psktool -u USER -p FILE adds one".into()));
    }
    Ok(keys)
}

fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let mut digits = Vec::with_capacity(text.len());
    for (n, digit) in (1..).zip(text.chars()) {
        let value = digit.to_digit(16).ok_or_else(|| format!("is not hexadecimal: its character {n} is no digit"))?;
        digits.push(value as u8);
    }
    if digits.len() % 2 == 1 {
        return Err(format!("has {} hexadecimal digits; two make a byte", digits.len()));
    }
    Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_psktool_writes_them() {
        let text = "alice:00112233445566778899aabbccddeeff\n\nbob:0123456789ABCDEF0123456789abcdef01\r\n";
        let keys = parse(text).unwrap();
        assert_eq!(keys["alice"], (0..16).map(|n| n * 0x11).collect::<Vec<u8>>());
        assert_eq!((keys["bob"].len(), keys.len()), (17, 2));
    }

    #[test]
    fn what_is_no_key_is_told_with_its_line_and_without_the_key() {
        let good = "alice:00112233445566778899aabbccddeeff";
        let long = format!("x:{}", "00".repeat(257));
        let name = format!("{}:00", "n".repeat(129));
        for (line, said) in [
            ("alice 0011", "no colon"),
            (":00112233445566778899aabbccddeeff", "0 bytes"),
            (&name, "129 bytes"),
            ("#616c:00112233445566778899aabbccddeeff", "begins with #"),
            ("bob:00112233445566778899aabbccddeefg", "its character 32 is no digit"),
            ("bob:00112233445566778899aabbccddeef", "31 hexadecimal digits"),
            ("bob:deadbeef", "the key of 'bob' has 4 bytes; 16 to 256"),
            (&long, "257 bytes"),
            (good, "a second key of 'alice'"),
        ] {
            let (n, problem) = parse(&format!("{good}\n{line}\n")).unwrap_err();
            assert_eq!(n, Some(2), "{line}");
            assert!(problem.contains(said) && !problem.contains("deadbeef"), "{problem}");
        }
        let (n, problem) = parse("\n").unwrap_err();
        assert!(n.is_none() && problem.contains("psktool"), "{problem}");
    }
}
