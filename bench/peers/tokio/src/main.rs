// An echo server on Tokio's multi-thread runtime, a task per connection as in Tokio's own examples:
// tokio-echo SIZE KIND. As many workers as GOMAXPROCS says. It says where it listens, and ends when its standard input
// does.
//
// KIND is echo, burn:N or block:MILLISECONDSms as of command serve: for each byte that is a mark, and no other byte of a
// message is one, the task computes for N iterations, or its thread sleeps. Either is done in the task, as by a user who
// does not know better.
use std::io::Read;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const MARK: u8 = b'B';

#[derive(Clone, Copy)]
enum Linger {
    No,
    Burn(u64),
    Block(Duration),
}

fn linger_of(kind: &str) -> Linger {
    match kind.split_once(':') {
        Some(("burn", n)) => Linger::Burn(n.parse().expect("burn:N")),
        Some(("block", d)) => {
            Linger::Block(Duration::from_millis(d.trim_end_matches("ms").parse().expect("block:50ms")))
        }
        _ => Linger::No,
    }
}

// burn is that of command serve: a chain of dependent operations, which takes as long in both.
#[inline(never)]
fn burn(iterations: u64) -> u64 {
    let mut x = iterations | 1;
    for _ in 0..iterations {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

fn linger(how: Linger, p: &[u8]) {
    if let Linger::No = how {
        return;
    }
    for _ in p.iter().filter(|&&b| b == MARK) {
        match how {
            Linger::Burn(n) => {
                std::hint::black_box(burn(n));
            }
            Linger::Block(d) => std::thread::sleep(d),
            Linger::No => {}
        }
    }
}

async fn echo(mut c: TcpStream, room: usize, how: Linger) -> std::io::Result<()> {
    c.set_nodelay(true)?;
    let mut p = vec![0; room];
    loop {
        let n = c.read(&mut p).await?;
        if n == 0 {
            return Ok(());
        }
        linger(how, &p[..n]);
        c.write_all(&p[..n]).await?;
    }
}

fn main() -> std::io::Result<()> {
    let number = |s: Option<String>| s.and_then(|s| s.parse::<usize>().ok());
    let workers = number(std::env::var("GOMAXPROCS").ok()).unwrap_or(1);
    let room = if number(std::env::args().nth(1)).unwrap_or(64) > 4 << 10 { 64 << 10 } else { 4 << 10 };
    let how = linger_of(&std::env::args().nth(2).unwrap_or_default());
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_io().build()?;
    rt.block_on(rt.spawn(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on {}", listener.local_addr()?);
        loop {
            let (c, _) = listener.accept().await?;
            tokio::spawn(echo(c, room, how)); // its error ends the connection
        }
    }))
    .unwrap()
}
