//! The engine of TLS: OpenSSL, which has no part in sockets. A connection reads and writes memory, so a handshake that stalls holds up nothing.

use super::Keys;
use openssl::error::ErrorStack;
use openssl::ssl::{
    ErrorCode, Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslSessionCacheMode, SslStream,
    SslVerifyMode, SslVersion,
};
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};

/// Why there is no TLS.
pub const ABSENT: Option<&str> = None;
/// Sealed bytes that wait for the socket from which on no more are sealed.
const SEALED: usize = 256 << 10;
/// Suites of TLS 1.2: a shared key, and a cipher that authenticates.
const SUITES_12: &str = "ECDHE-PSK-CHACHA20-POLY1305:PSK-AES256-GCM-SHA384:PSK-AES128-GCM-SHA256:PSK-CHACHA20-POLY1305";
/// Key exchange on curves: with the long primes of older groups a handshake would hold up the replies of others.
const GROUPS: &str = "X25519:P-256";

/// What all connections share.
pub type Context = SslContext;

/// A context that knows the keys of users.
pub fn context(keys: HashMap<String, Vec<u8>>) -> Result<SslContext, ErrorStack> {
    let mut builder = SslContextBuilder::new(SslMethod::tls_server())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    builder.set_cipher_list(SUITES_12)?;
    builder.set_groups_list(GROUPS)?;
    builder.set_verify(SslVerifyMode::NONE);
    // Nobody comes back to an old session: a connection stays as long as its client.
    builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    builder.set_num_tickets(0)?;
    builder.set_options(SslOptions::NO_TICKET | SslOptions::NO_RENEGOTIATION | SslOptions::CIPHER_SERVER_PREFERENCE);
    builder.set_mode(SslMode::RELEASE_BUFFERS);
    builder.set_psk_server_callback(move |_, user, into| {
        let key = user.and_then(|user| std::str::from_utf8(user).ok()).and_then(|user| keys.get(user));
        // No bytes stand for a user who is not known.
        let Some((key, into)) = key.and_then(|key| Some((key, into.get_mut(..key.len())?))) else { return Ok(0) };
        into.copy_from_slice(key);
        Ok(key.len())
    });
    Ok(builder.build())
}

/// What lies between the engine and the socket.
#[derive(Debug, Default)]
struct Wire {
    /// Bytes that came, of which the first `taken` are read.
    came: Vec<u8>,
    taken: usize,
    /// Bytes to be sent.
    going: Vec<u8>,
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let rest = &self.came[self.taken..];
        if rest.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.going.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The server's side of one connection.
#[derive(Debug)]
pub struct Channel {
    engine: SslStream<Wire>,
    begun: bool,
}

impl Channel {
    /// A channel whose handshake the client begins; `before` are plain bytes that go before it.
    ///
    /// # Errors
    /// When the library has no memory.
    pub fn new(keys: &Keys, before: Vec<u8>) -> io::Result<Self> {
        let wire = Wire { going: before, ..Wire::default() };
        let engine = SslStream::new(Ssl::new(&keys.context)?, wire)?;
        Ok(Self { engine, begun: false })
    }

    /// True once the handshake is done, and replies can be sealed.
    pub fn is_open(&self) -> bool {
        self.begun
    }

    /// Takes bytes that came from the socket; what they hold for the server is added to `plain`. False once the client has ended the channel.
    ///
    /// # Errors
    /// When the client has no key, or the bytes are not what a client with one sends. An alert for it may be in [`Channel::going`].
    pub fn take(&mut self, sealed: &[u8], plain: &mut Vec<u8>) -> io::Result<bool> {
        let wire = self.engine.get_mut();
        wire.came.drain(..wire.taken);
        wire.taken = 0;
        wire.came.extend(sealed);
        if !self.begun {
            match self.engine.accept() {
                Ok(()) => self.begun = true,
                Err(error) if error.code() == ErrorCode::WANT_READ => return Ok(true),
                Err(error) => return Err(broken(error)),
            }
        }
        loop {
            let have = plain.len();
            // A record has 16 KiB at most.
            plain.resize(have + (16 << 10), 0);
            let got = self.engine.ssl_read(&mut plain[have..]);
            plain.truncate(have + *got.as_ref().unwrap_or(&0));
            match got {
                Ok(_) => {}
                Err(error) if error.code() == ErrorCode::WANT_READ => return Ok(true),
                Err(error) if error.code() == ErrorCode::ZERO_RETURN => return Ok(false),
                Err(error) => return Err(broken(error)),
            }
        }
    }

    /// Seals the first of some bytes, and tells how many; 0 while enough of them wait for the socket.
    ///
    /// # Errors
    /// When the channel is broken.
    pub fn seal(&mut self, plain: &[u8]) -> io::Result<usize> {
        let room = SEALED.saturating_sub(self.engine.get_ref().going.len());
        let plain = &plain[..plain.len().min(room)];
        if plain.is_empty() {
            return Ok(0);
        }
        self.engine.ssl_write(plain).map_err(broken)
    }

    /// Bytes for the socket.
    pub fn going(&self) -> &[u8] {
        &self.engine.get_ref().going
    }

    /// The socket took the first `count` of them.
    pub fn went(&mut self, count: usize) {
        self.engine.get_mut().going.drain(..count);
    }

    /// Tells the client that nothing more comes.
    pub fn end(&mut self) {
        if self.begun {
            // Who has gone need not hear it.
            let _ = self.engine.shutdown();
        }
    }
}

fn broken(error: openssl::ssl::Error) -> io::Error {
    error.into_io_error().unwrap_or_else(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn keys() -> Keys {
        let users = HashMap::from([("alice".to_owned(), KEY.to_vec()), ("bob".to_owned(), vec![8; 64])]);
        Keys { context: context(users).unwrap(), users: vec!["alice".into(), "bob".into()] }
    }

    /// A client over memory, of one version of TLS.
    fn client(version: SslVersion, user: &'static str, key: &'static [u8]) -> SslStream<Wire> {
        let mut builder = SslContextBuilder::new(SslMethod::tls_client()).unwrap();
        builder.set_min_proto_version(Some(version)).unwrap();
        builder.set_max_proto_version(Some(version)).unwrap();
        builder.set_cipher_list("PSK:@SECLEVEL=0").unwrap();
        builder.set_psk_client_callback(move |_, _, name, into| {
            name[..user.len()].copy_from_slice(user.as_bytes());
            name[user.len()] = 0;
            into[..key.len()].copy_from_slice(key);
            Ok(key.len())
        });
        SslStream::new(Ssl::new(&builder.build()).unwrap(), Wire::default()).unwrap()
    }

    /// Carries bytes between both until the client is connected; the error of either side.
    fn shake(client: &mut SslStream<Wire>, server: &mut Channel) -> Result<(), String> {
        let mut plain = Vec::new();
        for _ in 0..10 {
            let connected = client.connect();
            let sent = std::mem::take(&mut client.get_mut().going);
            // Byte by byte: what is not complete has to wait.
            for byte in sent {
                server.take(&[byte], &mut plain).map_err(|error| format!("server: {error}"))?;
            }
            let back = server.going().to_vec();
            server.went(back.len());
            client.get_mut().came.extend(back);
            match connected {
                Ok(()) if server.is_open() => return Ok(()),
                Err(error) if error.code() != ErrorCode::WANT_READ => return Err(format!("client: {error}")),
                _ => {}
            }
        }
        Err("they never agree".into())
    }

    #[test]
    fn who_has_a_key_is_served_by_both_versions() {
        for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
            for (user, key) in [("alice", &KEY[..]), ("bob", &[8; 64])] {
                let (mut client, mut server) = (client(version, user, key), Channel::new(&keys(), Vec::new()).unwrap());
                shake(&mut client, &mut server).unwrap();
                assert_eq!(client.ssl().version2(), Some(version));
                // More than one record, and more than waits for a socket.
                let data: Vec<u8> = (0..1_000_000_u32).map(|n| (n / 7) as u8).collect();
                client.write_all(&data).unwrap();
                let (sealed, mut plain) = (std::mem::take(&mut client.get_mut().going), Vec::new());
                assert!(sealed.len() > data.len() && !sealed.windows(64).any(|part| part == &data[..64]));
                for part in sealed.chunks(100_000) {
                    assert!(server.take(part, &mut plain).unwrap());
                }
                assert!(plain == data);
                let (mut at, mut got) = (0, vec![0; data.len()]);
                while at < data.len() {
                    let sealed = server.seal(&data[at..]).unwrap();
                    assert!(sealed > 0 && server.going().len() < 2 * SEALED);
                    at += sealed;
                    assert!(at == data.len() || server.seal(&data[at..]).unwrap() == 0, "the socket takes nothing");
                    let back = server.going().to_vec();
                    server.went(back.len());
                    client.get_mut().came.extend(back);
                }
                client.read_exact(&mut got).unwrap();
                assert!(got == data);
                client.shutdown().unwrap();
                assert!(!server.take(&client.get_ref().going, &mut plain).unwrap(), "the client has ended it");
            }
        }
    }

    #[test]
    fn who_has_none_is_refused_with_an_alert() {
        for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
            for (user, key) in [("alice", &[9; 32][..]), ("mallory", &KEY)] {
                let (mut client, mut server) = (client(version, user, key), Channel::new(&keys(), Vec::new()).unwrap());
                let error = shake(&mut client, &mut server).unwrap_err();
                assert!(error.starts_with("server: "), "{error}");
                assert!(!server.is_open() && server.going()[0] == 21, "an alert: {:?}", server.going());
            }
        }
        let mut server = Channel::new(&keys(), b"plain".to_vec()).unwrap();
        assert!(server.take(b"GET / HTTP/1.1\r\n\r\n", &mut Vec::new()).is_err());
        assert!(server.going().starts_with(b"plain"));
        // A client of an older version.
        let mut old = client(SslVersion::TLS1_1, "alice", &KEY);
        assert!(shake(&mut old, &mut Channel::new(&keys(), Vec::new()).unwrap()).is_err());
    }

    #[test]
    fn changed_bytes_end_a_channel() {
        let (mut client, mut server) =
            (client(SslVersion::TLS1_3, "alice", &KEY), Channel::new(&keys(), Vec::new()).unwrap());
        shake(&mut client, &mut server).unwrap();
        client.write_all(b"hello").unwrap();
        let mut sealed = std::mem::take(&mut client.get_mut().going);
        *sealed.last_mut().unwrap() ^= 1;
        let mut plain = Vec::new();
        assert!(server.take(&sealed, &mut plain).is_err() && plain.is_empty());
    }
}
