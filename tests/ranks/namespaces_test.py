#!/usr/bin/python3
"""Ranks on two machines: two network namespaces joined by a pair of virtual Ethernet devices, so that ranks can only reach each other over
TCP from one to the other: namespaces_test.py BIN. Needs root, ip (iproute2) and a kernel that makes namespaces."""
import os
import shutil
import subprocess

import started
from started import document, essence, records

started.need_mpirun()
if os.geteuid() != 0:
    started.skip("network namespaces need root")
IP = shutil.which("ip") or shutil.which("ip", path="/usr/sbin:/sbin")
if not IP:
    started.skip("ip is missing (Debian package iproute2)")
started.enter_scratch()
MARK = f"rung{os.getpid() % 100000}"
NAMES = (MARK + "a", MARK + "b")
ADDRESSES = ("10.77.31.1", "10.77.31.2")


def ip(*words):
    return subprocess.run([IP, *words], capture_output=True, text=True)


def lay_cable():
    for name in NAMES:
        made = ip("netns", "add", name)
        if made.returncode != 0:
            started.skip("no network namespace can be made here: " + made.stderr.strip())
    made = ip("link", "add", MARK + "0", "netns", NAMES[0], "type", "veth", "peer", "name", MARK + "1", "netns", NAMES[1])
    if made.returncode != 0:
        started.skip("no virtual Ethernet can be made here: " + made.stderr.strip())
    for name, device, address in zip(NAMES, (MARK + "0", MARK + "1"), ADDRESSES):
        for words in (("addr", "add", address + "/24", "dev", device), ("link", "set", device, "up"), ("link", "set", "lo", "up")):
            done = ip("-n", name, *words)
            assert done.returncode == 0, done.stderr


try:
    lay_cable()
    # mpirun stands in the first namespace and reaches a host by entering the namespace that has its address; a mount namespace of its own
    # would be wanted for more, but the file system is shared as on a cluster.
    with open("agent", "w", encoding="utf-8") as agent:
        agent.write("#!/bin/bash\nhost=$1; shift\ncase $host in\n")
        for name, address in zip(NAMES, ADDRESSES):
            agent.write(f"  {address}) exec {IP} netns exec {name} bash -c \"$*\" ;;\n")
        agent.write("esac\nexit 1\n")
    os.chmod("agent", 0o755)
    with open("hosts", "w", encoding="utf-8") as hosts:
        hosts.write("".join(f"{address} slots=2\n" for address in ADDRESSES))
    over_tcp = ["--hostfile", "hosts", "--map-by", "node", "--mca", "plm_rsh_agent", os.path.abspath("agent"), "--mca", "btl", "tcp,self",
                "--mca", "btl_tcp_if_include", "10.77.31.0/24", "--mca", "oob_tcp_if_include", "10.77.31.0/24"]
    # Negative control: a rank of one namespace sees no device of the other.
    assert MARK + "1" not in ip("-n", NAMES[0], "link").stdout and MARK + "0" not in ip("-n", NAMES[1], "link").stdout
    started.MPIRUN = [IP, "netns", "exec", NAMES[0], "mpirun", "--bind-to", "none", *over_tcp]
    where = subprocess.run([*started.MPIRUN, "-n", "2", "readlink", "/proc/self/ns/net"], capture_output=True, text=True, env=started.environment())
    assert len(set(where.stdout.split())) == 2, where
    tiny = os.path.join(started.HERE, "tiny.toml")
    words = ("capacity", "two-sum", "--n", "4", "--M", "18")
    for ranks in (2, 4):
        assert document(*words, ranks=ranks) == document(*words)
    if os.path.exists(os.path.join(started.BIN, "rung-learn")):
        alone = document("lab", "--file", tiny, "--out", "one", "--store", "one.jsonl")
        shared = document("lab", "--file", tiny, "--out", "two", "--store", "two.jsonl", ranks=2)
        assert essence(shared) == essence(alone)
        assert records("two.jsonl") == records("one.jsonl")
    sent = ip("-n", NAMES[0], "-s", "-j", "link", "show", MARK + "0").stdout
    print("over the cable:", sent[:400])
finally:
    for name in NAMES:
        ip("netns", "del", name)
