# SPDX-License-Identifier: Apache-2.0
"""One ovsdb-server and one ovs-vswitchd from a build tree, for a benchmark."""

import os
import shutil
import signal
import subprocess
import tempfile
import time


def wait_until(condition, what, seconds=60):
    """Polls 'condition' until it is true; raises after 'seconds'."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("gave up waiting for " + what)
        time.sleep(0.01)


class Daemon:
    """A running switch.  Use as a context manager."""

    def __init__(self, build, dpdk=False):
        self.build = build
        self.dir = tempfile.mkdtemp(prefix="multinic-bench-")
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir,
                        OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir,
                        OVS_PKGDATADIR=self.dir)
        self.dpdk = dpdk
        self.processes = []

    def run(self, program, *arguments):
        """Runs a program of the build, returns what it printed."""
        return subprocess.run(
            [os.path.join(self.build, program)] + list(arguments),
            env=self.env, check=True, stdout=subprocess.PIPE,
            universal_newlines=True).stdout

    def vsctl(self, *arguments):
        return self.run("utilities/ovs-vsctl", "--timeout=60", *arguments)

    def start(self, program, *arguments):
        log = open(os.path.join(self.dir, "output"), "a")
        process = subprocess.Popen(
            [os.path.join(self.build, program), "-vconsole:off",
             "--log-file", "--pidfile", "--unixctl=%s/%s.ctl"
             % (self.dir, os.path.basename(program))] + list(arguments),
            env=self.env, stdout=log, stderr=log, start_new_session=True)
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
                                   "unix:%s/db.sock" % self.dir)
        wait_until(self.answers, "ovs-vswitchd")
        return self

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

    def cpu_ms(self):
        """CPU time that all threads of ovs-vswitchd have used, in ms."""
        total = 0
        tasks = "/proc/%d/task" % self.vswitchd.pid
        for task in os.listdir(tasks):
            with open("%s/%s/schedstat" % (tasks, task)) as file:
                total += int(file.read().split()[0])
        return total / 1e6

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
