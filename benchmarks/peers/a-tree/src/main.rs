//! The driver of the crate a-tree.
//!
//!     a-tree-driver FOLDER PEER CHECKED BUILD_LIMIT EVENT_LIMIT SECONDS
//!
//! Reads the files that peers_data.py writes, writes `PEER.matches`, and prints its figures as JSON: seconds of the build,
//! memory, and the nanoseconds of each call of `search` on an event that is built already.

use a_tree::{ATree, AttributeDefinition, Event};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

const MOST_CALLS: usize = 20_000;
const LONG_CALL: u64 = 200_000; // ns of processor time
const CLOCK_MONOTONIC: i32 = 1;
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// Returns the nanoseconds of a clock of Linux.
fn now(clock: i32) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` has the layout that the call writes on 64-bit Linux.
    unsafe { clock_gettime(clock, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

fn memory_kb(field: &str) -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn read_event(atree: &ATree<u32>, kinds: &HashMap<&str, &str>, line: &str) -> Event {
    let mut builder = atree.make_event();
    let words: Vec<&str> = line.split('\t').collect();
    for pair in words.chunks_exact(2) {
        // Attributes that no rule names are unknown to the tree.
        match kinds.get(pair[0]) {
            Some(&"string") => builder.with_string(pair[0], pair[1].strip_prefix('\'').unwrap()).unwrap(),
            Some(_) => builder.with_integer(pair[0], pair[1].parse().unwrap()).unwrap(),
            None => (),
        }
    }
    builder.build().unwrap()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let folder = Path::new(&arguments[1]);
    let peer = &arguments[2];
    let n_checked: usize = arguments[3].parse().unwrap();
    let limits: Vec<f64> = arguments[4..7].iter().map(|text| text.parse().unwrap()).collect();
    let (build_limit, event_limit, seconds) = (limits[0], limits[1], limits[2]);

    let attributes = fs::read_to_string(folder.join("attributes.tsv")).unwrap();
    let kinds: HashMap<&str, &str> = attributes.lines().map(|line| line.split_once('\t').unwrap()).collect();
    let definitions: Vec<AttributeDefinition> = kinds
        .iter()
        .map(|(name, kind)| match *kind {
            "string" => AttributeDefinition::string(name),
            _ => AttributeDefinition::integer(name),
        })
        .collect();
    let text = fs::read_to_string(folder.join(format!("{peer}.rules"))).unwrap();
    let rules: Vec<(u32, &str)> = text
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(id, rule)| (id.parse().unwrap(), rule))
        .collect();

    let before = memory_kb("VmRSS:");
    let start = Instant::now();
    let mut atree = ATree::<u32>::new(&definitions).unwrap();
    for (number, (id, rule)) in rules.iter().enumerate() {
        atree.insert(id, rule).unwrap();
        if start.elapsed().as_secs_f64() > build_limit {
            println!("{{\"stopped\": \"built {} rules in {} s\"}}", number + 1, build_limit);
            return;
        }
    }
    let build_seconds = start.elapsed().as_secs_f64();
    let memory = memory_kb("VmHWM:") - before;

    let lines = fs::read_to_string(folder.join("events.tsv")).unwrap();
    let events: Vec<Event> = lines.lines().map(|line| read_event(&atree, &kinds, line)).collect();

    let mut matches = String::new();
    let mut checked = 0;
    let start = Instant::now();
    for event in events.iter().take(n_checked) {
        let report = atree.search(event).unwrap();
        let mut found: Vec<u32> = report.matches().iter().map(|id| **id).collect();
        found.sort_unstable();
        let ids: Vec<String> = found.iter().map(u32::to_string).collect();
        writeln!(matches, "{}", ids.join(" ")).unwrap();
        checked += 1;
        if start.elapsed().as_secs_f64() > event_limit * n_checked as f64 {
            break;
        }
    }
    fs::write(folder.join(format!("{peer}.matches")), matches).unwrap();

    // The processor's time for long calls, which a busy machine interrupts; that clock is slow to read.
    let begin = now(CLOCK_THREAD_CPUTIME_ID);
    atree.search(&events[0]).unwrap();
    let is_long = now(CLOCK_THREAD_CPUTIME_ID) - begin > LONG_CALL;
    let clock = if is_long { CLOCK_THREAD_CPUTIME_ID } else { CLOCK_MONOTONIC };
    let mut times: Vec<u64> = Vec::new();
    let mut n_found = 0;
    let start = Instant::now();
    while times.len() < MOST_CALLS && start.elapsed().as_secs_f64() < seconds {
        let event = &events[times.len() % events.len()];
        let begin = now(clock);
        let report = atree.search(event).unwrap();
        times.push(now(clock) - begin);
        n_found += report.matches().len();
    }
    println!(
        "{{\"build_seconds\": {build_seconds}, \"memory_mb\": {}, \"checked\": {checked}, \"found\": {n_found}, \"times\": {times:?}}}",
        memory as f64 / 1024.0
    );
}
