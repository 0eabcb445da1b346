// An echo server on Tokio's multi-thread runtime, a task per connection as in Tokio's own examples:
// tokio-echo SIZE. As many workers as GOMAXPROCS says. It says where it listens, and ends when its standard input
// does.
use std::io::Read;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn echo(mut c: TcpStream, room: usize) -> std::io::Result<()> {
    c.set_nodelay(true)?;
    let mut p = vec![0; room];
    loop {
        let n = c.read(&mut p).await?;
        if n == 0 {
            return Ok(());
        }
        c.write_all(&p[..n]).await?;
    }
}

fn main() -> std::io::Result<()> {
    let number = |s: Option<String>| s.and_then(|s| s.parse::<usize>().ok());
    let workers = number(std::env::var("GOMAXPROCS").ok()).unwrap_or(1);
    let room = if number(std::env::args().nth(1)).unwrap_or(64) > 4 << 10 { 64 << 10 } else { 4 << 10 };
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
            tokio::spawn(echo(c, room)); // its error ends the connection
        }
    }))
    .unwrap()
}
