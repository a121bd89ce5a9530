# SPDX-License-Identifier: Apache-2.0
"""Settings of the database: bridges, ports, and keys of Open_vSwitch."""
import dataclasses

from ovs_multinic import keep
from ovs_multinic.errors import Failure
from ovs_multinic.step import PATIENCE_S, Step, wait_for


@dataclasses.dataclass
class Settings(Step):
    """Keys of a map column of the one row of table Open_vSwitch."""

    kind = 'settings'
    column: str
    values: dict

    def key(self):
        return (self.kind, self.column, *sorted(self.values))

    def text(self):
        return 'set Open_vSwitch . ' + ' '.join(
            '%s:%s=%s' % (self.column, key, value)
            for key, value in self.values.items())

    def before(self, system):
        now = getattr(system.database.root, self.column)
        return {key: now.get(key) for key in self.values}

    def is_set(self, system):
        return self.before(system) == self.values

    def differences(self, system):
        for key, now in self.before(system).items():
            if now != self.values[key]:
                yield '%s:%s' % (self.column, key), \
                    'it is %s, but %s was applied' % (
                        'not set' if now is None else now or 'empty',
                        self.values[key])

    def write(self, system, values):
        """Gives keys their values; None deletes a key."""
        def change(_txn):
            root = system.database.root
            for key, value in values.items():
                if value is None:
                    root.delkey(self.column, key)
                else:
                    root.setkey(self.column, key, value)
        system.database.transact(change, self.text())

    def set(self, system):
        self.write(system, self.values)

    def unset(self, system, before):
        now = self.before(system)
        ours = {key: before[key] for key in self.values
                if now[key] == self.values[key]}
        if ours:
            self.write(system, ours)
        left = ['%s:%s=%s' % (self.column, key, now[key])
                for key in self.values
                if now[key] not in (self.values[key], before[key])]
        return 'Open_vSwitch: left %s' % ' '.join(left) if left else None


@dataclasses.dataclass
class Dpdk(Settings):
    """DPDK in ovs-vswitchd, which goes on without where that fails."""

    kind = 'dpdk'
    column: str = 'other_config'
    values: dict = dataclasses.field(
        default_factory=lambda: {'dpdk-init': 'try'})

    def is_set(self, system):
        return super().is_set(system) \
            and system.database.root.dpdk_initialized

    def differences(self, system):
        yield from super().differences(system)
        if not system.database.root.dpdk_initialized:
            yield 'other_config:dpdk-init', \
                'ovs-vswitchd has not initialized DPDK: its log says why'

    def verify(self, system):
        if not wait_for(lambda: self.is_set(system)):
            raise Failure('other_config:dpdk-init: ovs-vswitchd cannot'
                          ' initialize DPDK: its log says why, and it tries'
                          ' again when it starts')


@dataclasses.dataclass
class Bridge(Step):
    """A bridge of the userspace datapath.  HWADDR may be None."""

    kind = 'bridge'
    IDENTITY = ('name',)
    name: str
    hwaddr: str = None

    def text(self):
        return 'add-br %s datapath_type=netdev%s' % (
            self.name, ' other_config:hwaddr=%s' % self.hwaddr
            if self.hwaddr else '')

    def before(self, system):
        row = system.database.row('Bridge', self.name)
        return row and {'datapath_type': row.datapath_type,
                        'hwaddr': row.other_config.get('hwaddr')}

    def _rest(self):
        return {'datapath_type': 'netdev', 'hwaddr': self.hwaddr}

    def is_set(self, system):
        now = self.before(system)
        if now and self.hwaddr is None:
            now['hwaddr'] = None
        return now == self._rest() and \
            system.kernel.index(self.name) is not None

    def write(self, system, values):
        """Makes the bridge if needed and gives it VALUES."""
        link = system.kernel.links().get(self.name)
        now = self.before(system)
        if link and now and values['hwaddr'] != now['hwaddr'] \
                and (values['hwaddr'] or '').lower() != link.mac:
            keep.refuse_lossy(system.kernel, self.name)

        def change(txn):
            row = system.database.row('Bridge', self.name)
            if row is None:
                row = txn.insert(system.database.idl.tables['Bridge'])
                row.name = self.name
                port = txn.insert(system.database.idl.tables['Port'])
                port.name = self.name
                local = txn.insert(system.database.idl.tables['Interface'])
                local.name = self.name
                local.type = 'internal'
                port.interfaces = [local]
                row.ports = [port]
                system.database.root.addvalue('bridges', row)
            row.datapath_type = values['datapath_type']
            if values['hwaddr']:
                row.setkey('other_config', 'hwaddr', values['hwaddr'])
            elif 'hwaddr' in row.other_config:
                row.delkey('other_config', 'hwaddr')
        with keep.kept(system.kernel, self.name):
            system.database.transact(change, self.text())

    def set(self, system):
        self.write(system, self._rest())

    def unset(self, system, before):
        row = system.database.row('Bridge', self.name)
        if row is None:
            return None
        if before:
            now = self.before(system)
            self.write(system, {
                key: before[key] if now[key] == value else now[key]
                for key, value in self._rest().items()})
            return None
        others = [port.name for port in row.ports if port.name != self.name]
        if others:
            return 'bridge %s: left, it has port %s' % (
                self.name, ', '.join(sorted(others)))
        addresses = system.kernel.own_addresses(self.name)
        if addresses:
            return 'bridge %s: left, it has address %s' % (
                self.name, ', '.join(addresses))
        system.database.transact(
            lambda _txn: system.database.root.delvalue('bridges', row),
            'del-br %s' % self.name)
        if system.database.is_awaited:
            wait_for(lambda: system.kernel.index(self.name) is None)
        return None


@dataclasses.dataclass
class Port(Step):
    """A NIC as a port of its bridge.  TYPE is '' for the kernel's NIC or
    'dpdk'; MTU, if not None, is asked for."""

    kind = 'port'
    IDENTITY = ('name',)
    name: str
    bridge: str
    type: str = ''
    options: dict = dataclasses.field(default_factory=dict)
    mtu: int = None

    def text(self):
        words = ['add-port', self.bridge, self.name]
        if self.type:
            words.append('type=' + self.type)
        words += ['options:%s=%s' % item for item in self.options.items()]
        if self.mtu:
            words.append('mtu_request=%d' % self.mtu)
        return ' '.join(words)

    def before(self, system):
        link = system.kernel.links().get(self.name)
        return {'row': self.now(system), 'mtu': link.mtu if link else None}

    def now(self, system):
        """What write() writes, as it is now, or None."""
        row = system.database.row('Interface', self.name)
        return row and {
            'type': '' if row.type == 'system' else row.type,
            'options': dict(row.options),
            'mtu': row.mtu_request[0] if row.mtu_request else None}

    def _value(self):
        return {'type': self.type, 'options': self.options, 'mtu': self.mtu}

    def is_set(self, system):
        row = system.database.row('Interface', self.name)
        now = self.now(system)
        if now and self.mtu is None:
            now['mtu'] = None
        bridge = system.database.row('Bridge', self.bridge)
        return bool(row and bridge and now == self._value()
                    and row.ofport and row.ofport[0] > 0 and not row.error
                    and self.name in [port.name for port in bridge.ports])

    def write(self, system, value):
        """Makes the port if needed and gives its interface VALUE."""
        def change(txn):
            row = system.database.row('Interface', self.name)
            if row is None:
                row = txn.insert(system.database.idl.tables['Interface'])
                row.name = self.name
                port = txn.insert(system.database.idl.tables['Port'])
                port.name = self.name
                port.interfaces = [row]
                bridge = system.database.row('Bridge', self.bridge)
                if bridge is None:
                    raise Failure('%s: no such bridge' % self.bridge)
                bridge.addvalue('ports', port)
            row.type = value['type']
            row.options = value['options']
            row.mtu_request = [value['mtu']] if value['mtu'] else []
        bridge = system.database.row('Bridge', self.bridge)
        if bridge and not bridge.other_config.get('hwaddr'):
            keep.refuse_lossy(system.kernel, self.bridge)
        self.change(system, change, self.text())

    def change(self, system, change, comment):
        """Commits a CHANGE.  A bridge without hwaddr may take the MAC address
        of a port that is new, or lose that of one that goes."""
        with keep.kept(system.kernel, self.bridge):
            system.database.transact(change, comment)

    def set(self, system):
        self.write(system, self._value())

    def verify(self, system):
        def decided():
            row = system.database.row('Interface', self.name)
            return self.is_set(system) or row and row.error
        wait_for(decided, 3 * PATIENCE_S)       # A NIC may take its time.
        row = system.database.row('Interface', self.name)
        if not self.is_set(system):
            raise Failure('port %s: %s' % (
                self.name, row.error[0] if row and row.error
                else 'ovs-vswitchd gave it no number'))
        if self.mtu and not self.is_in_datapath(system):
            raise Failure('port %s: it does not take an MTU of %d'
                          % (self.name, self.mtu))

    def is_in_datapath(self, system):
        """A port whose driver refuses an MTU leaves the datapath soon after
        the database says that all is done: when ovs-vswitchd has answered a
        first question, it has been around once more."""
        if system.vswitchd is None:
            return True
        for _ in range(2):
            ports = system.vswitchd.command('dpif/show')
        return any(line.split()[:1] == [self.name]
                   for line in ports.splitlines())

    def unset(self, system, before):
        now = self.now(system)
        if now is None:
            return None
        ours = all(now[key] == value for key, value in self._value().items()
                   if value is not None)
        port = system.database.row('Port', self.name)
        bridge = system.database.row('Bridge', self.bridge)
        if not (ours and port and bridge and port in bridge.ports):
            return 'port %s: left, it is not as it was set' % self.name
        if before['row']:
            self.write(system, before['row'])
        else:
            self.change(system, lambda _txn: bridge.delvalue('ports', port),
                        'del-port %s' % self.name)
        # ovs-vswitchd leaves a kernel's NIC with the MTU that it gave it.
        if self.mtu and before['mtu'] and system.kernel.index(self.name):
            system.kernel.set_link(self.name, mtu=before['mtu'])
        return None
