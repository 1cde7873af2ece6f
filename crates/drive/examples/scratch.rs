use wordline_drive::precondition::precondition;
use wordline_drive::Drive;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let sets: Vec<String> = args[2..].to_vec();
    let (loaded, _) = wordline_drive::load(&args[1], &sets).unwrap_or_else(|e| { eprintln!("{e}"); std::process::exit(2) });
    let mut drive = Drive::new(&loaded.value, 1).unwrap();
    let t = std::time::Instant::now();
    let done = precondition(&mut drive, &loaded.value.precondition, 1, &mut |f| { eprintln!("{f:.3} {:.2?} free {} {:?}", t.elapsed(), drive_free(), 0); true });
    println!("{:?} {:?} {:?}", t.elapsed(), done, drive.kernel().counters());
    let r = drive.kernel().blocks().records();
    let per = r.len() / drive.kernel().flash().geometry().planes() as usize;
    let v: Vec<u32> = r.chunks(per).map(|c| c.iter().map(|b| b.valid).sum()).collect();
    println!("valid per plane {v:?}");
}
fn drive_free() -> u32 { 0 }
