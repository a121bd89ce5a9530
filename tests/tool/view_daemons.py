# SPDX-License-Identifier: Apache-2.0
"""For the tests of "top", "report" and "prometheus": a real ovsdb-server, and
something that answers like ovs-vswitchd what a test tells it to."""
import json
import os
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

import lab

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TREE = os.environ.get('OVS_TREE') or os.path.join(TOP, 'build', 'ovs')
TOOL = os.path.join(TOP, 'utilities', 'ovs-multinic')
DATA = os.path.join(HERE, 'view-data')

sys.path.insert(0, os.path.dirname(TOOL))


def data(name):
    """The contents of file NAME of view-data."""
    with open(os.path.join(DATA, name), encoding='utf-8') as stream:
        return stream.read()


def wait_for(condition, seconds=20):
    """Waits until CONDITION() holds; fails after SECONDS."""
    deadline = lab.Deadline(seconds)
    while not condition():
        assert deadline.left(), 'waited %s s in vain' % seconds
        time.sleep(0.05)


class Refusal(Exception):
    """An answer that is an error."""


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class Vswitchd:
    """Answers at socket PATH.  'answers' has for each command a text, or a
    function of its arguments that returns one or raises Refusal."""

    def __init__(self, path, answers):
        self.path, self.answers = path, answers
        self.asked = []         # Commands with arguments.
        self.connections = set()
        self.server = None

    def start(self):
        """Appears."""
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                outer.connections.add(self.request)
                outer.serve(self.request)

        self.server = Server(self.path, Handler)
        threading.Thread(target=self.server.serve_forever,
                         kwargs={'poll_interval': 0.02}, daemon=True).start()

    def stop(self):
        """Vanishes, as a daemon does that is killed."""
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            connection.close()
        self.connections = set()
        os.unlink(self.path)

    def serve(self, connection):
        """Answers requests until the other side is gone."""
        buffer = ''
        decoder = json.JSONDecoder()
        while True:
            try:
                received = connection.recv(65536)
            except OSError:
                return
            if not received:
                return
            buffer += received.decode()
            while buffer:
                try:
                    request, end = decoder.raw_decode(buffer)
                except ValueError:
                    break
                buffer = buffer[end:].lstrip()
                try:
                    connection.sendall(self.reply(request).encode())
                except OSError:
                    return

    def reply(self, request):
        """The reply to one request."""
        name, params = request['method'], request['params']
        self.asked.append((name, params))
        reply = {'id': request['id'], 'error': None, 'result': None}
        answer = self.answers.get(name)
        try:
            if answer is None:
                raise Refusal('"%s" is not a valid command' % name)
            reply['result'] = answer(params) if callable(answer) else answer
        except Refusal as refusal:
            reply['error'] = str(refusal)
        return json.dumps(reply)


class Hosts:
    """A directory with an ovsdb-server in it; leave() removes both."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix='view')
        self.db = 'unix:%s/db.sock' % self.directory
        self.socket = os.path.join(self.directory, 'vswitchd.ctl')
        self.server = None
        self.run('ovsdb/ovsdb-tool', 'create', self.directory + '/conf.db',
                 os.path.join(TREE, 'vswitchd', 'vswitch.ovsschema'))

    @staticmethod
    def missing():
        """Why there can be none, or None."""
        tool = os.path.join(TREE, 'ovsdb', 'ovsdb-server')
        return None if os.path.exists(tool) else 'no %s' % tool

    def run(self, tool, *arguments):
        """Runs TOOL of the build tree."""
        environment = dict(os.environ, OVS_RUNDIR=self.directory)
        return subprocess.run(
            [os.path.join(TREE, tool), *arguments], check=True,
            env=environment, stdout=subprocess.PIPE, timeout=60).stdout

    def start(self):
        """Starts ovsdb-server."""
        path = self.db.partition(':')[2]
        self.server = subprocess.Popen(
            [os.path.join(TREE, 'ovsdb', 'ovsdb-server'), '-vconsole:off',
             '--no-chdir', '--unixctl=%s/ovsdb.ctl' % self.directory,
             '--remote=punix:' + path, self.directory + '/conf.db'])
        wait_for(lambda: os.path.exists(path))

    def stop(self):
        """Ends ovsdb-server."""
        self.server.terminate()
        self.server.wait()

    def leave(self):
        """Ends and removes everything."""
        if self.server:
            self.stop()
        shutil.rmtree(self.directory)

    def vsctl(self, *arguments):
        """Runs ovs-vsctl."""
        return self.run('utilities/ovs-vsctl', '--no-wait', '--db=' + self.db,
                        *arguments)

    def tool(self, *arguments):
        """Runs ovs-multinic with these daemons."""
        name, *rest = arguments
        return subprocess.run(
            [TOOL, name, '--db', self.db, '--target', self.socket, *rest],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
            universal_newlines=True)
