# SPDX-License-Identifier: Apache-2.0
"""Connections to ovsdb-server and to ovs-vswitchd."""
import json
import os
import time

from ovs_multinic.errors import Failure

try:
    import ovs.daemon
    import ovs.db.idl
    import ovs.dirs
    import ovs.jsonrpc
    import ovs.poller
    import ovs.stream
    import ovs.unixctl
except ImportError as error:
    raise ImportError('package python3-openvswitch is missing') from error

NAME = 'Open_vSwitch'

# The columns that this tool reads or writes.
COLUMNS = {
    'Open_vSwitch': ['bridges', 'cur_cfg', 'dpdk_initialized',
                     'external_ids', 'next_cfg', 'other_config'],
    'Bridge': ['datapath_type', 'external_ids', 'fail_mode', 'name',
               'other_config', 'ports'],
    'Port': ['external_ids', 'interfaces', 'name', 'tag'],
    'Interface': ['admin_state', 'error', 'external_ids', 'ifindex',
                  'link_state', 'mac_in_use', 'mtu', 'mtu_request', 'name',
                  'ofport', 'options', 'statistics', 'status', 'type'],
}

# What ovsdb-server or ovs-vswitchd may take to answer, in seconds, and what
# ovs-vswitchd may take to do what the database says: DPDK clears hugepages.
PATIENCE_S = 10
RELOAD_PATIENCE_S = 60


def add_arguments(parser):
    """Adds what tells where the daemons are."""
    parser.add_argument(
        '--db', metavar='REMOTE',
        default='unix:%s/db.sock' % ovs.dirs.RUNDIR,
        help='ovsdb-server (default: %(default)s)')
    parser.add_argument(
        '--target', metavar='TARGET', default='ovs-vswitchd',
        help='ovs-vswitchd: name of its pidfile or path of its control '
             'socket (default: %(default)s)')


class Unreachable(Failure):
    """A daemon does not run, or does not answer in time."""


def open_stream(remote, what, patience_s=PATIENCE_S):
    """Returns a stream to REMOTE, or fails with a line that starts with
    WHAT."""
    try:
        error, stream = ovs.stream.Stream.open_block(
            ovs.stream.Stream.open(remote), patience_s * 1000)
    except (RecursionError, ValueError) as failure:     # Of the name.
        raise Failure('%s: %s' % (what, failure)) from None
    if error:
        raise Unreachable('%s: cannot connect: %s'
                          % (what, os.strerror(error)))
    return stream


def call(connection, what, method, params, patience_s=PATIENCE_S):
    """One request over an ovs.jsonrpc.Connection; returns the reply, a
    Message, within PATIENCE_S seconds or fails."""
    request = ovs.jsonrpc.Message.create_request(method, params)
    connection.send(request)
    deadline_ms = time.monotonic() * 1000 + patience_s * 1000
    while True:
        connection.run()
        error, reply = connection.recv()
        if not error:
            if reply.id == request.id:
                return reply
            continue
        left_ms = deadline_ms - time.monotonic() * 1000
        if error != ovs.jsonrpc.errno.EAGAIN or left_ms <= 0:
            raise Unreachable('%s: no answer' % what)
        poller = ovs.poller.Poller()
        poller.timer_wait(left_ms)
        connection.wait(poller)
        connection.recv_wait(poller)
        poller.block()


class Database:
    """A replica of the database, from ovsdb-server at REMOTE.

    COLUMNS maps tables to the columns wanted; columns that this server does
    not know are left out.  Rows are those of ovs.db.idl: read attributes
    freely, write them inside transact()."""

    def __init__(self, remote, columns=None):
        self.remote = remote
        self.is_awaited = True      # What ovs-vswitchd does with changes.
        connection = ovs.jsonrpc.Connection(open_stream(remote, remote))
        reply = call(connection, remote, 'get_schema', [NAME])
        connection.close()
        if reply.error is not None:
            raise Failure('%s: database %s: %s'
                          % (remote, NAME, reply.error))
        helper = ovs.db.idl.SchemaHelper(schema_json=reply.result)
        for table, names in (columns or COLUMNS).items():
            known = reply.result['tables'][table]['columns']
            helper.register_columns(table,
                                    [name for name in names if name in known])
        self.idl = ovs.db.idl.Idl(remote, helper)
        self.wait_for(lambda: self.idl.has_ever_connected(), 'no contents')

    def close(self):
        """Ends the connection."""
        self.idl.close()

    def run(self):
        """Takes in what the server has sent; True if something changed."""
        return self.idl.run()

    def wait_for(self, condition, complaint, patience_s=PATIENCE_S):
        """Runs until CONDITION() holds; fails with COMPLAINT, or returns
        False if that is None, when it does not within PATIENCE_S seconds."""
        deadline = time.monotonic() + patience_s
        while True:
            seqno = self.idl.change_seqno
            self.idl.run()
            if condition():
                return True
            left_ms = (deadline - time.monotonic()) * 1000
            if left_ms <= 0:
                if complaint is None:
                    return False
                raise Failure('%s: %s' % (self.remote, complaint))
            if seqno == self.idl.change_seqno:
                poller = ovs.poller.Poller()
                poller.timer_wait(left_ms)
                self.idl.wait(poller)
                poller.block()

    def rows(self, table):
        """The rows of TABLE, as they are by now."""
        if self.idl.txn is None:
            self.idl.run()
        return list(self.idl.tables[table].rows.values())

    def row(self, table, name):
        """The row of TABLE with that name, or None."""
        return next((row for row in self.rows(table) if row.name == name),
                    None)

    @property
    def root(self):
        """The one row of table Open_vSwitch."""
        rows = self.rows('Open_vSwitch')
        if not rows:
            raise Failure('%s: table Open_vSwitch is empty ("ovs-vsctl init"'
                          ' fills it)' % self.remote)
        return rows[0]

    def transact(self, change, comment, reload=True):
        """Calls CHANGE(txn), which writes rows, and commits.  With RELOAD,
        returns once ovs-vswitchd has taken it over, and fails if it does not
        answer in time; the commit stays.  Once it did not, nobody waits for
        it any more: it finds all in the database when it is back."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            txn = ovs.db.idl.Transaction(self.idl)
            txn.add_comment('ovs-multinic: ' + comment)
            try:
                change(txn)
                if reload:
                    self.root.increment('next_cfg')
                status = txn.commit()
                while status == txn.INCOMPLETE:
                    left_ms = (deadline - time.monotonic()) * 1000
                    if left_ms <= 0:
                        raise Failure('%s: no answer' % self.remote)
                    poller = ovs.poller.Poller()
                    poller.timer_wait(left_ms)
                    self.idl.wait(poller)
                    txn.wait(poller)
                    poller.block()
                    self.idl.run()
                    status = txn.commit()
            finally:
                txn.abort()
            if status == txn.TRY_AGAIN and time.monotonic() < deadline:
                self.wait_for(lambda: True, None)
                continue
            break
        if status == txn.TRY_AGAIN:
            raise Failure('%s: no answer' % self.remote)
        if status == txn.ERROR:
            raise Failure('%s: %s' % (self.remote, txn.get_error()))
        if reload and status == txn.SUCCESS and self.is_awaited:
            wanted = txn.get_increment_new_value()
            self.is_awaited = self.wait_for(
                lambda: self.root.cur_cfg >= wanted, None, RELOAD_PATIENCE_S)
            if not self.is_awaited:
                raise Failure('%s: ovs-vswitchd does not take over the change'
                              % self.remote)


class UnknownCommand(Failure):
    """ovs-vswitchd has no such command."""


class Vswitchd:
    """A connection to the control socket of ovs-vswitchd, which has
    PATIENCE_S seconds for each answer."""

    def __init__(self, target, patience_s=PATIENCE_S):
        self.target = target
        self.patience_s = patience_s
        error, path = ovs.unixctl.socket_name_from_target(target)
        if error:
            raise Unreachable('%s: %s: does it run?' % (target, path))
        # Not ovs.unixctl.client: that waits for an answer for ever.
        self.connection = ovs.jsonrpc.Connection(
            open_stream('unix:' + path, target, patience_s))

    def close(self):
        """Ends the connection."""
        self.connection.close()

    def command(self, name, *arguments):
        """Returns what command NAME prints."""
        reply = call(self.connection, self.target, name, list(arguments),
                     self.patience_s)
        if reply.error is not None:
            message = str(reply.error).strip()
            kind = (UnknownCommand if 'not a valid command' in message
                    else Failure)
            raise kind('%s: %s: %s' % (self.target, name, message))
        return str(reply.result)

    def json(self, name, *arguments):
        """Returns what command NAME says with "format=json", as Python
        values."""
        text = self.command(name, *arguments, 'format=json')
        try:
            return json.loads(text)
        except ValueError:
            raise Failure('%s: %s: the answer is not JSON'
                          % (self.target, name)) from None
