#!/usr/bin/env python3
"""Turn ftrace text (block_rq_issue / block_rq_complete) into the CSV trace.

usage: blocktrace_to_csv.py raw.txt out.csv

Only issue events become lines; completions are used for the latency and
queue-depth figures printed to stderr.  Flush requests carry no address.
"""
import re
import sys
from collections import Counter, defaultdict

EV = re.compile(
    r"\s(\d+\.\d+): block_rq_(issue|complete): \d+,\d+ (\S+) (?:(\d+) )?\(.*?\) (\d+) \+ (\d+) ")
MARK = re.compile(r"\s(\d+\.\d+): tracing_mark_write: (.*)")
LOST = re.compile(r"LOST (\d+) EVENTS")


def kind(rwbs):
    """The kernel's rwbs letters: optional F (preflush), operation, then flags."""
    if rwbs.startswith("FF") or rwbs == "F":
        return "F"
    op = rwbs[1] if rwbs[0] == "F" else rwbs[0]
    return {"R": "R", "W": "W", "D": "T"}.get(op, "?")


def main():
    raw, out = sys.argv[1:3]
    rows, marks, odd, lost = [], [], Counter(), 0
    flags = Counter()
    pending, lat, depth, maxdepth, dsum = defaultdict(list), defaultdict(list), 0, 0, 0
    for line in open(raw, errors="replace"):
        m = EV.search(line)
        if not m:
            m = MARK.search(line)
            if m:
                marks.append((float(m[1]), m[2].strip()))
            elif LOST.search(line):
                lost += int(LOST.search(line)[1])
            continue
        us = round(float(m[1]) * 1e6)
        op = kind(m[3])
        off, size = int(m[5]) * 512, int(m[6]) * 512
        if op == "F":
            off = size = 0
        key = (op, off)
        if m[2] == "issue":
            flags[m[3]] += 1
            if op == "?" or (op != "F" and size == 0):
                odd[m[3]] += 1
                continue
            rows.append((us, op, off, size))
            pending[key].append(us)
            depth += 1
            dsum += depth
            maxdepth = max(maxdepth, depth)
        elif pending[key]:
            lat[op].append(us - pending[key].pop(0))
            depth -= 1
    rows.sort(key=lambda r: r[0])          # stable: keeps kernel order at equal times
    t0 = rows[0][0]
    with open(out, "w") as f:
        f.write("time_us,op,offset_bytes,size_bytes\n")
        for us, op, off, size in rows:
            f.write(f"{us - t0},{op},{off},{size}\n")

    e = sys.stderr
    dur = (rows[-1][0] - t0) / 1e6
    print(f"requests {len(rows)}  seconds {dur:.1f}  lost {lost}  skipped {dict(odd)}", file=e)
    pages, wpages, rpages = set(), set(), set()
    for us, op, off, size in rows:
        if op in "RW":
            p = range(off // 4096, (off + size + 4095) // 4096)
            (wpages if op == "W" else rpages).update(p)
    pages = wpages | rpages
    for op in "RWTF":
        s = [r[3] for r in rows if r[1] == op]
        if s:
            l = sorted(lat[op]) or [0]
            print(f"{op}: {len(s)} requests, {sum(s) / 2**20:.1f} MiB, mean {sum(s) / len(s):.0f} B, "
                  f"max {max(s)} B, latency p50 {l[len(l) // 2]} us p99 {l[len(l) * 99 // 100]} us "
                  f"({len(lat[op])} completed)", file=e)
            print("   sizes: " + ", ".join(f"{k}:{v}" for k, v in Counter(s).most_common(8)), file=e)
    print(f"distinct 4 KiB pages: {len(pages)} any, {len(rpages)} read, {len(wpages)} written, "
          f"{len(rpages - wpages)} only read", file=e)
    print(f"highest byte {max(r[2] + r[3] for r in rows)}; not 4 KiB aligned "
          f"{sum(1 for r in rows if r[2] % 4096 or r[3] % 4096)}", file=e)
    print(f"in flight: mean at issue {dsum / len(rows):.1f}, max {maxdepth}; left open {depth}", file=e)
    print("rwbs: " + ", ".join(f"{k}:{v}" for k, v in flags.most_common()), file=e)
    for t, s in marks:
        print(f"mark {t - t0 / 1e6:9.3f} s  {s}", file=e)


if __name__ == "__main__":
    main()
