# SPDX-License-Identifier: Apache-2.0
"""One ovsdb-server and one ovs-vswitchd from a build tree, for a benchmark."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def wait_until(condition, what, seconds=60, interval=0.01):
    """Polls 'condition' until it is true; raises after 'seconds'."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("gave up waiting for " + what)
        time.sleep(interval)


class Daemon:
    """A running switch.  Use as a context manager."""

    def __init__(self, build, dpdk=False, eswitch=None):
        """'eswitch': lines of configuration for the eSwitch model, which
        ovs-vswitchd gets preloaded then."""
        self.build = build
        self.dir = tempfile.mkdtemp(prefix="multinic-bench-")
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir,
                        OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir,
                        OVS_PKGDATADIR=self.dir)
        self.dpdk = dpdk
        self.eswitch = eswitch
        self.processes = []

    def run(self, program, *arguments):
        """Runs a program of the build, returns what it printed."""
        return subprocess.run(
            [os.path.join(self.build, program)] + list(arguments),
            env=self.env, check=True, stdout=subprocess.PIPE,
            universal_newlines=True).stdout

    def vsctl(self, *arguments):
        return self.run("utilities/ovs-vsctl", "--timeout=60", *arguments)

    def start(self, program, *arguments, **environment):
        log = open(os.path.join(self.dir, "output"), "a")
        process = subprocess.Popen(
            [os.path.join(self.build, program), "-vconsole:off",
             "--log-file", "--pidfile", "--unixctl=%s/%s.ctl"
             % (self.dir, os.path.basename(program))] + list(arguments),
            env=dict(self.env, **environment), stdout=log, stderr=log,
            start_new_session=True)
        self.processes.append(process)
        return process

    def __enter__(self):
        try:
            return self.launch()
        except BaseException:
            self.__exit__()
            raise

    def launch(self):
        database = self.dir + "/conf.db"
        self.run("ovsdb/ovsdb-tool", "create", database,
                 self.build + "/vswitchd/vswitch.ovsschema")
        self.start("ovsdb/ovsdb-server", "--remote=punix:%s/db.sock"
                   % self.dir, database)
        wait_until(lambda: os.path.exists(self.dir + "/db.sock"),
                   "ovsdb-server")
        self.vsctl("--no-wait", "init")
        if self.dpdk:
            self.vsctl("--no-wait", "set", "Open_vSwitch", ".",
                       "other_config:dpdk-init=true",
                       "other_config:pmd-cpu-mask=0x2",
                       "other_config:dpdk-extra=--no-huge --legacy-mem -m 512 "
                       "--no-pci --file-prefix=%s"
                       % os.path.basename(self.dir))
        self.vswitchd = self.start("vswitchd/ovs-vswitchd",
                                   "unix:%s/db.sock" % self.dir,
                                   **self.preload())
        wait_until(self.answers, "ovs-vswitchd")
        return self

    def preload(self):
        """The environment of ovs-vswitchd with the eSwitch model."""
        if self.eswitch is None:
            return {}
        subprocess.run([TOP + "/tests/eswitch/run", "--build"], check=True)
        with open(self.dir + "/eswitch.conf", "w") as file:
            file.write("log %s/eswitch.log\ncontrol %s/eswitch\n"
                       % (self.dir, self.dir) + self.eswitch)
        return {"LD_PRELOAD": TOP + "/build/eswitch/libeswitch.so",
                "ESWITCH_CONFIG": self.dir + "/eswitch.conf"}

    def model(self, *words):
        """Asks the eSwitch model."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(self.dir + "/eswitch")
            stream.sendall(" ".join(words).encode() + b"\n")
            return b"".join(iter(lambda: stream.recv(65536), b"")).decode()

    def answers(self):
        return subprocess.run(
            [self.build + "/utilities/ovs-appctl", "-t",
             self.dir + "/ovs-vswitchd.ctl", "version"], env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode == 0

    def ctl(self, *arguments):
        """ovs-appctl to the switch; its error text counts as an answer."""
        result = subprocess.run(
            [self.build + "/utilities/ovs-appctl", "-t",
             self.dir + "/ovs-vswitchd.ctl"] + list(arguments), env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            universal_newlines=True)
        return result.stdout

    def log(self):
        """What ovs-vswitchd has logged."""
        with open(self.dir + "/ovs-vswitchd.log") as file:
            return file.read()

    def cpu_ms(self, thread=""):
        """CPU time that the threads of ovs-vswitchd whose names begin with
        'thread' have used, in ms."""
        total = 0
        tasks = "/proc/%d/task" % self.vswitchd.pid
        for task in os.listdir(tasks):
            with open("%s/%s/comm" % (tasks, task)) as file:
                if not file.read().startswith(thread):
                    continue
            with open("%s/%s/schedstat" % (tasks, task)) as file:
                total += int(file.read().split()[0])
        return total / 1e6

    def resident_bytes(self):
        """Memory of ovs-vswitchd that is not shared with files."""
        with open("/proc/%d/status" % self.vswitchd.pid) as file:
            for line in file:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
