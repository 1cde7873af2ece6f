//! Where a server listens: a socket in the file system, or a port.

use rustix::net::sockopt::set_socket_send_buffer_size;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use wordline_workload::system_words;

/// Bytes of replies that a socket takes before its client reads them: a reply that fits goes out at once, however late a busy system lets its
/// client run.
const SEND_BUFFER: usize = 4 << 20;

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A port; 0 takes a free one.
    Tcp(SocketAddr),
}

impl Address {
    /// The address that `text`, HOST:PORT, names; `secure` if clients have to use TLS there.
    ///
    /// # Errors
    /// When it names none, or one that other machines reach, without TLS: replies carry data, and anybody could ask for them.
    pub fn tcp(text: &str, secure: bool) -> Result<Self, String> {
        let told = |problem: &str| format!("--tcp {text}: {problem}");
        let unknown = |_| match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                told("no address was found for this host; give localhost")
            }
            _ => told("not a HOST:PORT, such as localhost:10809"),
        };
        let found: Vec<SocketAddr> = text.to_socket_addrs().map_err(unknown)?.collect();
        let Some(first) = found.first() else { return Err(told("this host has no address")) };
        if !secure && found.iter().any(|address| !address.ip().is_loopback()) {
            return Err(told(
                "other machines reach this address, so it needs --tls-psk FILE, with the keys of those who may connect; \
                 or give localhost",
            ));
        }
        Ok(Self::Tcp(*first))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// A socket that takes connections. The file of a Unix socket goes with it.
#[derive(Debug)]
pub enum Listener {
    /// On a Unix socket, whose file it removes if that is still its own.
    Unix(UnixListener, PathBuf, (u64, u64)),
    /// On a port.
    Tcp(TcpListener),
}

/// Removes the file of a socket that nobody listens on any more, as a killed server leaves it.
fn remove_stale(path: &Path) -> Result<(), String> {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let name = path.display();
    if !meta.file_type().is_socket() {
        return Err(format!("--socket {name}: there is a file of this name, and it is no socket; give another name"));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(format!("--socket {name}: another server listens there; give another name"));
    }
    let _ = std::fs::remove_file(path);
    Ok(())
}

impl Listener {
    /// Listens on an address.
    ///
    /// # Errors
    /// When it is taken or cannot be used; the message names the option.
    pub fn bind(address: &Address) -> Result<Self, String> {
        let listener = match address {
            Address::Unix(path) => {
                remove_stale(path)?;
                let failed = |error: io::Error| {
                    let words = match error.kind() {
                        io::ErrorKind::NotFound => "the directory does not exist; create it first".to_owned(),
                        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                        io::ErrorKind::InvalidInput => "the name is too long for a socket".to_owned(),
                        _ => system_words(&error),
                    };
                    format!("--socket {}: {words}", path.display())
                };
                let socket = UnixListener::bind(path).map_err(failed)?;
                let meta = std::fs::symlink_metadata(path).map_err(failed)?;
                Self::Unix(socket, path.clone(), (meta.dev(), meta.ino()))
            }
            Address::Tcp(address) => {
                let socket = TcpListener::bind(address);
                Self::Tcp(socket.map_err(|error| format!("--tcp {address}: {}", system_words(&error)))?)
            }
        };
        let unblocked = match &listener {
            Self::Unix(socket, ..) => socket.set_nonblocking(true),
            Self::Tcp(socket) => socket.set_nonblocking(true),
        };
        unblocked.map_err(|error| format!("{address}: {}", system_words(&error)))?;
        Ok(listener)
    }

    /// Where it listens; a free port has its number by now.
    #[must_use]
    pub fn address(&self) -> Address {
        match self {
            Self::Unix(_, path, _) => Address::Unix(path.clone()),
            Self::Tcp(socket) => {
                Address::Tcp(socket.local_addr().unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], 0))))
            }
        }
    }

    /// Takes a connection that waits.
    ///
    /// # Errors
    /// `WouldBlock` when none waits.
    pub fn accept(&self) -> io::Result<Stream> {
        let stream = match self {
            Self::Unix(socket, ..) => {
                let (stream, _) = socket.accept()?;
                stream.set_nonblocking(true)?;
                Stream::Unix(stream)
            }
            Self::Tcp(socket) => {
                let (stream, _) = socket.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
        };
        // Some systems allow less, and take what they allow.
        let _ = set_socket_send_buffer_size(&stream, SEND_BUFFER);
        Ok(stream)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket, ..) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path, own) = self {
            let meta = std::fs::symlink_metadata(&*path);
            if meta.is_ok_and(|meta| (meta.dev(), meta.ino()) == *own) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// A connection, whose reads and writes do not block.
#[derive(Debug)]
pub enum Stream {
    /// Of a Unix socket.
    Unix(UnixStream),
    /// Of a port.
    Tcp(TcpStream),
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn write_vectored(&mut self, bytes: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write_vectored(bytes),
            Self::Tcp(stream) => stream.write_vectored(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served_without_tls() {
        assert!(Address::tcp("127.0.0.1:0", false).is_ok());
        assert!(Address::tcp("[::1]:10809", false).is_ok());
        assert!(Address::tcp("0.0.0.0:10809", false).unwrap_err().contains("--tls-psk"));
        assert!(Address::tcp("0.0.0.0:10809", true).is_ok());
        for wrong in ["localhost", "localhost:", "localhost:99999", ":", "10809"] {
            let told = Address::tcp(wrong, true).unwrap_err();
            assert!(told.starts_with(&format!("--tcp {wrong}: ")), "{told}");
        }
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_living_one_is_not() {
        let path = std::env::temp_dir().join(format!("wordline-address-{}.sock", std::process::id()));
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a listener of the library leaves its file");
        let address = Address::Unix(path.clone());
        let listener = Listener::bind(&address).unwrap();
        assert!(Listener::bind(&address).unwrap_err().contains("another server listens there"));
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "a file").unwrap();
        assert!(Listener::bind(&address).unwrap_err().contains("it is no socket"));
        std::fs::remove_file(&path).unwrap();
    }
}
