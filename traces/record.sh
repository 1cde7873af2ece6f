#!/bin/bash
# Record pgbench-ext4.csv.zst: PostgreSQL + pgbench on ext4, traced at the block
# layer of a small virtual machine (guest-init.sh is what runs inside it, and
# blocktrace_to_csv.py turns the kernel's text into the CSV).  Can be run again at
# any time: everything goes into $OUT (default ./rec-out) and is made afresh, only
# the downloaded kernel package is kept.  Was run as root; needs about 3 GB of disk
# and 8 minutes with the default parameters.
#
# Debian 12 packages needed: qemu-system-x86 busybox-static cpio kmod zstd
#   e2fsprogs util-linux postgresql-15 postgresql-client-15 python3
# plus one Debian kernel package file, fetched (not installed) with apt-get.
# Runs under plain emulation (TCG) unless ACCEL=kvm is given.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
HERE=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-$PWD/rec-out}
MEM=${MEM:-400M}              # guest memory; the root file system lives in it too
DISK=${DISK:-2G}              # size of the traced device
SCALE=${SCALE:-60}            # pgbench scale: about 0.9 GB of tables and indexes
SECONDS_RUN=${SECONDS_RUN:-300}
RATE=${RATE:-100}             # transactions per second, Poisson arrivals (pgbench -R)
CLIENTS=${CLIENTS:-8}
NAME=${NAME:-pgbench-ext4}
mkdir -p "$OUT"; cd "$OUT"

# ---- guest kernel: unpack the package, do not install it ----------------------
if ! ls linux-image-*.deb >/dev/null 2>&1; then
  apt-get download "$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image/{print $2; exit}')"
fi
rm -rf kernel root; mkdir kernel root
dpkg-deb -x linux-image-*.deb kernel
KVER=$(ls kernel/lib/modules)

# ---- guest root: an initramfs with busybox, PostgreSQL and the libraries ------
mkdir -p root/{proc,sys,dev,etc,tmp,data,bin,usr/bin,usr/sbin,usr/lib,usr/share,lib/modules/$KVER}
ln -s usr/sbin root/sbin
put() {   # copy programs with the shared libraries they need
  local f l
  for f in "$@"; do
    mkdir -p "root$(dirname "$f")"; cp -L "$f" "root$f"
    { ldd "$f" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r l; do
      [ -e "root$l" ] || { mkdir -p "root$(dirname "$l")"; cp -L "$l" "root$l"; }
    done
  done
}
PG=/usr/lib/postgresql/15
put $PG/bin/{postgres,initdb,pg_ctl,pgbench} $PG/lib/{plpgsql,dict_snowball}.so
mkdir -p root/usr/share/postgresql && cp -rL /usr/share/postgresql/15 root/usr/share/postgresql/
put /usr/bin/setpriv /usr/sbin/mke2fs
# /usr/bin/psql is a Perl wrapper on Debian: take the real one
put $PG/bin/psql
cp /etc/mke2fs.conf root/etc/
mkdir -p root/usr/share/zoneinfo && cp -L /usr/share/zoneinfo/UTC root/usr/share/zoneinfo/ 2>/dev/null || true
cp "$(command -v busybox)" root/bin/busybox
for a in $(root/bin/busybox --list); do
  [ -e root/bin/$a ] || [ -e root/usr/bin/$a ] || [ -e root/usr/sbin/$a ] || ln -s /bin/busybox root/bin/$a
done
printf 'root:x:0:0::/tmp:/bin/sh\npostgres:x:101:104::/tmp:/bin/sh\n' > root/etc/passwd
printf 'root:x:0:\npostgres:x:104:\n' > root/etc/group
cp kernel/lib/modules/$KVER/modules.{order,builtin,builtin.modinfo} root/lib/modules/$KVER/
depmod -b kernel "$KVER"
for m in virtio_pci virtio_blk virtio_console ext4 crc32c_generic crc32c_intel; do
  modprobe -d kernel -S "$KVER" --show-depends $m | awk '$1=="insmod"{print $2}'
done | sort -u | while read -r f; do
  r=${f##*/lib/modules/}; mkdir -p "root/lib/modules/$(dirname "$r")"; cp "kernel/lib/modules/$r" "root/lib/modules/$r"
done
depmod -b root "$KVER"
install -m755 "$HERE/guest-init.sh" root/init
printf 'SCALE=%s\nSECONDS_RUN=%s\nRATE=%s\nCLIENTS=%s\n' $SCALE $SECONDS_RUN $RATE $CLIENTS > root/params.sh
( cd root && find . | cpio -o -H newc -R 0:0 --quiet ) | gzip -1 > initrd.gz

# ---- run ----------------------------------------------------------------------
rm -f data.img raw.txt console.txt; truncate -s "$DISK" data.img; : > raw.txt
ACCEL=${ACCEL:-tcg,thread=multi}   # ACCEL=kvm where the host supports it
nice qemu-system-x86_64 -machine q35 -accel $ACCEL -cpu max -smp 2 -m "$MEM" \
  -kernel kernel/boot/vmlinuz-"$KVER" -initrd initrd.gz \
  -append "console=ttyS0 quiet mitigations=off panic=-1 rdinit=/init" \
  -nodefaults -no-reboot -display none -serial file:console.txt \
  -drive file=data.img,format=raw,if=none,id=d,cache=none,aio=native,discard=unmap \
  -device virtio-blk-pci,drive=d,logical_block_size=4096,physical_block_size=4096 \
  -device virtio-serial-pci -chardev file,id=t,path=raw.txt -device virtserialport,chardev=t,name=trace
tail -n 3 console.txt

python3 "$HERE/blocktrace_to_csv.py" raw.txt "$NAME.csv" 2>&1 | tee "$NAME.stats.txt"
zstd -19 --ultra -f -q "$NAME.csv" -o "$NAME.csv.zst"
ls -l "$NAME.csv.zst"
