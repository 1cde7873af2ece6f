"""A Linux guest for tests: the kernel that this machine has installed, and a root in memory with busybox."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

INIT = """\
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules); do insmod $module; done
until [ -b {disk} ]; do sleep 0.1; done
make-ext4 -q -t ext4 {disk} && mount -t ext4 -o discard {disk} /mnt || poweroff -f
dd if=/dev/urandom of=/mnt/kept bs=64k count=40 2>/dev/null
dd if=/dev/urandom of=/mnt/gone bs=64k count=40 2>/dev/null
before=$(sha256sum < /mnt/kept)
rm /mnt/gone
umount /mnt
echo 3 > /proc/sys/vm/drop_caches
mount -t ext4 {disk} /mnt
[ "$before" = "$(sha256sum < /mnt/kept)" ] && echo "the file is as it was written"
umount /mnt && echo "the guest is done"
poweroff -f
"""


def kernel() -> tuple[Path, Path] | None:
    """A kernel in ``/boot`` and its modules; None if there is none."""
    for image in sorted(Path("/boot").glob("vmlinuz-*")):
        modules = Path("/lib/modules") / image.name.removeprefix("vmlinuz-")
        if modules.is_dir():
            return image, modules
    return None


def put(root: Path, program: str) -> None:
    """Copies a program with the libraries that it needs."""
    source = shutil.which(program)
    assert source is not None
    libraries = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
    for name in (source, *re.findall(r"/\S+", libraries)):
        place = root / name.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, place)


def needed(release: str, module: str) -> list[str]:
    """The files of a module and of those that it needs, in order; none if it is part of the kernel."""
    command = ["modprobe", "-S", release, "--show-depends", module]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split()[1] for line in told.splitlines() if line.startswith("insmod ")]


def initramfs(folder: Path, release: str, disk: str) -> Path:
    """A root for the guest, which makes a file system on ``disk``, uses it, and powers off."""
    root = folder / "root"
    for name in ("bin", "proc", "sys", "dev", "mnt", "etc"):
        (root / name).mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox is not None
    shutil.copy(busybox, root / "bin" / "busybox")
    for applet in ("sh", "mount", "umount", "insmod", "sleep", "cat", "dd", "sha256sum", "rm", "poweroff"):
        (root / "bin" / applet).symlink_to("busybox")
    put(root, "mke2fs")
    # By its own name the shell would take busybox's, which makes ext2 only.
    (root / "bin" / "make-ext4").symlink_to(str(shutil.which("mke2fs")))
    shutil.copy("/etc/mke2fs.conf", root / "etc")
    files = dict.fromkeys(file for module in ("virtio_pci", "virtio_blk", "nvme") for file in needed(release, module))
    for number, file in enumerate(files):
        shutil.copy(file, root / f"{number}.ko")
    (root / "modules").write_text("".join(f"/{number}.ko\n" for number in range(len(files))))
    (root / "init").write_text(INIT.format(disk=disk))
    (root / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    archive = folder / "initrd"
    with archive.open("wb") as out:
        pack = [busybox, "cpio", "-o", "-H", "newc"]
        subprocess.run(pack, input=names.encode(), stdout=out, stderr=subprocess.DEVNULL, cwd=root, check=True)
    return archive


def boot(folder: Path, uri: str, device: str, disk: str) -> str:
    """Boots a guest with the disk at ``uri`` behind a virtual ``device``; what it said on its console."""
    found = kernel()
    assert found is not None
    image, modules = found
    machine = ["-machine", "q35", "-accel", "tcg", "-cpu", "max", "-m", "256M", "-nodefaults", "-no-reboot"]
    start = ["-kernel", str(image), "-initrd", str(initramfs(folder, modules.name, disk))]
    start += ["-append", "console=ttyS0 quiet mitigations=off panic=-1", "-display", "none", "-serial", "stdio"]
    drive = ["-drive", f"file={uri},format=raw,if=none,id=d,cache=none,discard=unmap", "-device", device]
    command = ["qemu-system-x86_64", *machine, *start, *drive]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
