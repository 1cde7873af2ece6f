#!/bin/sh
# Runs as PID 1 inside the recording guest (see record.sh).  It builds an ext4
# file system on the virtio data disk, loads a pgbench database (not traced),
# then records everything the kernel issues to that disk while PostgreSQL is
# mounted, started, driven by pgbench, stopped and unmounted again.
export PATH=/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin
export TZ=UTC LANG=C LC_ALL=C HOME=/tmp PGHOST=/tmp PGUSER=postgres PGDATABASE=postgres

mount -t proc  proc  /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /tmp /data
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp; chmod 1777 /tmp /dev/shm
ip link set lo up 2>/dev/null
for m in virtio_pci virtio_blk virtio_console ext4 crc32c_generic; do modprobe $m 2>/dev/null; done
mount -t tracefs tracefs /sys/kernel/tracing
sleep 1
. /params.sh                       # SCALE SECONDS_RUN RATE CLIENTS, from record.sh

DEV=/dev/vda
D=/data/pg
pg()  { /usr/bin/setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
log() { echo "GUEST $(cut -d' ' -f1 /proc/uptime) $*"; }
finish() { log "exit: $*"; sync; poweroff -f; }

uname -a
log "queue: $(cd /sys/block/vda/queue; for f in scheduler write_cache read_ahead_kb \
     max_sectors_kb logical_block_size discard_max_bytes nr_requests; do echo -n "$f=$(cat $f) "; done)"

# ---- 1. prepare, not traced ---------------------------------------------------
/usr/sbin/mke2fs -q -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 $DEV || finish mkfs
mount -t ext4 -o discard,noatime $DEV /data || finish mount
mkdir $D; chown postgres:postgres $D
pg initdb -D $D -U postgres --auth=trust --no-locale -E UTF8 >/tmp/initdb.log 2>&1 || { cat /tmp/initdb.log; finish initdb; }
cat >> $D/postgresql.conf <<CONF
listen_addresses = ''
unix_socket_directories = '/tmp'
shared_buffers = 64MB
max_wal_size = 192MB
min_wal_size = 48MB
checkpoint_timeout = 60s
log_checkpoints = on
jit = off
CONF
pg pg_ctl -D $D -w -l /tmp/pg.log start || { cat /tmp/pg.log; finish start; }
pg pgbench -i -q -s $SCALE 2>&1 | tail -3
pg psql -qc 'CHECKPOINT'
pg pg_ctl -D $D -w -m fast stop
df -k /data | tail -1
umount /data
log "prepared"; free -m

# ---- 2. traced part -----------------------------------------------------------
T=/sys/kernel/tracing
# kernel dev_t is major<<20 | minor
DEVT=$(awk -F: '{print $1 * 1048576 + $2}' /sys/block/vda/dev)
echo 0      > $T/tracing_on
echo mono   > $T/trace_clock
echo 8192   > $T/buffer_size_kb
for e in block_rq_issue block_rq_complete; do
  echo "dev == $DEVT" > $T/events/block/$e/filter
  echo 1              > $T/events/block/$e/enable
done
# The raw text leaves the guest through a virtio serial port, so that recording
# touches neither the traced disk nor the guest's page cache.
cat $T/trace_pipe > "$(ls /dev/vport*p1 | head -1)" &
CAT=$!
echo 1 > $T/tracing_on
mark() { echo "$*" > $T/trace_marker; log "$*"; }

mark phase mount
mount -t ext4 -o discard,noatime $DEV /data
mark phase start
: > /tmp/pg.log; chown postgres /tmp/pg.log
pg pg_ctl -D $D -w -l /tmp/pg.log start
mark phase pgbench
( sleep $((SECONDS_RUN / 10)); mark phase reindex
  pg psql -qc 'REINDEX INDEX CONCURRENTLY pgbench_accounts_pkey'
  mark phase reindex-end ) &
J1=$!
( sleep $((SECONDS_RUN / 2)); mark phase sort
  pg psql -qc 'SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY abalance, aid DESC) n FROM pgbench_accounts) s' >/dev/null
  mark phase sort-end ) &
J2=$!
pg pgbench -n -c $CLIENTS -j 2 -T $SECONDS_RUN -R $RATE -P 20 -b tpcb-like@3 -b select-only@1 2>&1
mark phase pgbench-end
wait $J1 $J2                      # let the maintenance jobs finish
mark phase stop
pg pg_ctl -D $D -w -m fast stop
mark phase umount
umount /data
mark phase end
sleep 2
echo 0 > $T/tracing_on
sleep 2
grep -H -E 'overrun|dropped' $T/per_cpu/cpu*/stats
kill $CAT 2>/dev/null
cat /tmp/pg.log; free -m
finish done
