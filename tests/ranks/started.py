"""How the tests of ranks start rung: BIN is the folder of the programs, `mpirun` OpenMPI's on this machine."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
BIN = os.path.abspath(sys.argv[1])
RUNG = os.path.join(BIN, "rung")
HERE = os.path.dirname(os.path.abspath(__file__))
# Ranks of one thread: more of them than cores, on a machine that does other work.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def enter_scratch():
    """Into a folder that is removed at the end."""
    folder = tempfile.mkdtemp(prefix="rung-ranks-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chdir(folder)


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", RUNG_THREADS="1", OMP_NUM_THREADS="1")


def need_mpirun():
    if not shutil.which("mpirun"):
        skip("mpirun is missing (Debian package openmpi-bin)")
    if not os.path.exists(os.path.join(BIN, "rung-mpi.so")):
        skip("this rung was built without MPI (Debian package libopenmpi-dev)")


def rung(*words, ranks=1, mpirun=(), code=0, timeout=240):
    """Runs rung on so many ranks; returns what was printed, standard output and standard error."""
    command = ([] if ranks == 1 else MPIRUN + list(mpirun) + ["-n", str(ranks)]) + [RUNG, *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=timeout)
    assert done.returncode == code, f"{command}: {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


def document(*words, **options):
    """One JSON document and nothing else on standard output, however many ranks."""
    return json.loads(rung(*words, "--json", **options)[0])


def records(store):
    """[(kind, what it is about)] of a store of JSON lines, sorted: the last line of an id counts."""
    found = {}
    with open(store, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if "kind" in record:
                found[record["id"]] = record
    about = []
    for record in found.values():
        body = record["body"] if isinstance(record["body"], dict) else json.loads(record["body"])
        about.append((record["kind"], record["state"], str(body.get("configuration")), str(body.get("prediction")),
                      str(body.get("member"))))
    return sorted(about)


def essence(lab):
    """What an experiment says, without times, folders and ids."""
    return ([(c["id"], c["label"], c["scores"], c["accuracy"]) for c in lab["configurations"]],
            [(v["id"], v["verdict"], v["reason"]) for v in lab["verdicts"]])
