# SPDX-License-Identifier: Apache-2.0
"""Hosts in network namespaces of their own, for tests that need root.  That of
the tests here: "host" with nic1..nicN, ovsdb-server and ovs-vswitchd, and
"fabric" with the other ends, far1..farN."""
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TREE = os.environ.get('OVS_TREE', os.path.join(TOP, 'build/ovs'))
# Seconds for what takes none unless the machine stands still.
PATIENCE = 300
TOOL = os.path.join(TOP, 'utilities/ovs-multinic')
sys.path.insert(0, os.path.join(TOP, 'utilities'))


def why_not():
    """Why no lab can be made here, or None."""
    if os.geteuid() != 0:
        return 'needs root'
    if not os.path.exists('/dev/net/tun'):
        return 'needs /dev/net/tun'
    if not os.path.exists(os.path.join(TREE, 'vswitchd/ovs-vswitchd')):
        return 'no ovs-vswitchd in %s' % TREE
    for package in ('ovs', 'pyroute2'):
        try:
            __import__(package)
        except ImportError:
            return 'needs the Python module %s' % package
    return None


class Deadline:
    """Ends after SECONDS in which this process runs: a virtual machine may
    stand still for minutes."""
    still = 2

    def __init__(self, seconds):
        self.seconds, self.last = seconds, time.monotonic()

    def left(self):
        """How many of the seconds are left, to be asked again and again."""
        now = time.monotonic()
        self.seconds -= min(now - self.last, self.still)
        self.last = now
        return max(0, self.seconds)


def run(*words, **how):
    """Runs a command that must succeed; returns what it prints."""
    result = subprocess.run(words, stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.PIPE, timeout=PATIENCE, **how)
    if result.returncode:
        raise AssertionError('%s: %s' % (' '.join(words), result.stderr))
    return result.stdout


def ended(pid):
    """True if there is no such process, or nobody has asked how it ended."""
    try:
        with open('/proc/%d/stat' % pid) as stream:
            return stream.read().rpartition(')')[2].split()[0] == 'Z'
    except OSError:
        return True


class Daemons:
    """A host with ovsdb-server and ovs-vswitchd, in namespace "host" of those
    that it makes, the PARTS; close() removes it all."""

    def __init__(self, name, parts=('host', 'fabric')):
        self.name = name
        self.parts = parts
        self.dir = tempfile.mkdtemp(prefix=name)
        atexit.register(self.close)
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir,
                        OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir,
                        PYTHONDONTWRITEBYTECODE='1')
        for part in parts:
            run('ip', 'netns', 'add', self.ns(part))
            self.ip('link set lo up', part)

    def start_database(self, *settings):
        """Starts ovsdb-server, with SETTINGS of table Open_vSwitch."""
        run(TREE + '/ovsdb/ovsdb-tool', 'create', self.dir + '/conf.db',
            TREE + '/vswitchd/vswitch.ovsschema')
        self.host(TREE + '/ovsdb/ovsdb-server', '--detach', '--pidfile',
                  '--log-file', '--no-chdir', '-vconsole:off',
                  '--remote=punix:%s/db.sock' % self.dir,
                  self.dir + '/conf.db')
        # Idle PMD threads sleep.
        self.vsctl('--no-wait', 'init', '--', 'set', 'Open_vSwitch', '.',
                   'other_config:pmd-maxsleep=200',
                   'other_config:pmd-sleep-max=200', *settings)

    def ns(self, part):
        """The name of a namespace."""
        return '%s-%s' % (self.name, part)

    def start_vswitchd(self, **variables):
        """Starts ovs-vswitchd, with these environment VARIABLES."""
        run('ip', 'netns', 'exec', self.ns('host'),
            TREE + '/vswitchd/ovs-vswitchd', '--detach', '--pidfile',
            '--log-file', '--no-chdir', '-vconsole:off',
            'unix:%s/db.sock' % self.dir, env={**self.env, **variables})

    def stop(self, daemon, how=signal.SIGTERM):
        """Ends a daemon that start_vswitchd() or __init__() started."""
        try:
            with open('%s/%s.pid' % (self.dir, daemon)) as stream:
                pid = int(stream.read())
            os.kill(pid, how)
        except (OSError, ValueError):
            return
        for _ in range(500):
            if ended(pid):
                return
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)

    def close(self):
        """Removes it all."""
        atexit.unregister(self.close)
        self.stop('ovs-vswitchd')
        self.stop('ovsdb-server')
        for part in self.parts:
            run('ip', 'netns', 'del', self.ns(part))
        shutil.rmtree(self.dir)

    def ip(self, words, part='host'):
        """Runs ip(8) in a namespace."""
        return run('ip', '-n', self.ns(part), *words.split())

    def host(self, *words, part='host'):
        """Runs a command in a namespace, with the daemons of this host."""
        return run('ip', 'netns', 'exec', self.ns(part), *words, env=self.env)

    def vsctl(self, *words):
        """Runs ovs-vsctl."""
        return self.host(TREE + '/utilities/ovs-vsctl',
                         '--timeout=%d' % PATIENCE, *words)

    def appctl(self, *words):
        """Asks ovs-vswitchd."""
        return self.host(TREE + '/utilities/ovs-appctl',
                         '--timeout=%d' % PATIENCE, *words)


class Lab(Daemons):
    """The lab of the tool's tests."""

    def __init__(self, nics=2):
        super().__init__('mntool%d' % os.getpid())
        self.nics = nics
        self.env.pop('SSH_CONNECTION', None)
        self.state = os.path.join(self.dir, 'state.json')
        for n in range(1, nics + 1):
            self.ip('link add nic%d type veth peer name far%d netns %s'
                    % (n, n, self.ns('fabric')))
            self.ip('link set far%d up' % n, 'fabric')
            self.ip('addr add 10.1.%d.254/24 dev far%d' % (n, n), 'fabric')
            self.ip('addr add 2001:db8:%d::fe/64 dev far%d nodad' % (n, n),
                    'fabric')
        self.start_database()
        self.start_vswitchd()

    def tool(self, *words, env=None):
        """Runs ovs-multinic; returns (status, output, error output)."""
        state = ('--state', self.state) if words[0] in (
            'apply', 'undo', 'check', 'networkd') else ()
        result = subprocess.run(
            ('ip', 'netns', 'exec', self.ns('host'), '/usr/bin/python3',
             TOOL, words[0], *state, *words[1:]),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=PATIENCE, env={**self.env, **(env or {})})
        return result.returncode, result.stdout, result.stderr

    def kernel(self):
        """All that undo must bring back, as ip(8) and /proc show it."""
        shown = {}
        for words in ('addr', '-4 route show table all',
                      '-6 route show table all', '-4 rule', '-6 rule'):
            shown[words] = json.loads(self.ip('-j ' + words) or '[]')
            if 'route' in words:
                # Routes of one prefix are in the order of their making.
                shown[words].sort(key=str)
        for link in shown['addr']:
            # The kernel's numbers, and what it changes once a link was up.
            for key in ('ifindex', 'link_index', 'qdisc'):
                link.pop(key, None)
            if link['ifname'] == 'ovs-netdev':
                link.pop('address')                 # Random.
        conf = self.host('sh', '-c', 'grep -s "" /proc/sys/net/ipv4/conf/*/*'
                         ' /proc/sys/net/ipv6/conf/*/*; true')
        shown['sysctl'] = sorted(
            line for line in conf.splitlines() if 'stable_secret' not in line)
        return shown

    def database(self):
        """What undo must bring back of the database."""
        shown = {}
        for table, columns in (
                ('Open_vSwitch', 'external_ids,other_config'),
                ('Bridge', 'name,datapath_type,other_config'),
                ('Port', 'name'), ('Interface', 'name,type,options')):
            shown[table] = sorted(json.loads(self.vsctl(
                '--format=json', '--columns=' + columns, 'list', table))
                ['data'], key=str)
        return shown
