# SPDX-License-Identifier: Apache-2.0
"""The interface through which the user is logged in."""
import os

from ovs_multinic.errors import Failure


def connection(environ=None, pid=None):
    """The words of SSH_CONNECTION (peer, its port, own address, own port) of
    this process or, where sudo dropped it, of the processes above it; or
    None."""
    value = (os.environ if environ is None else environ).get('SSH_CONNECTION')
    pid = pid or os.getppid()
    while not value and pid > 1:
        try:
            with open('/proc/%d/environ' % pid, 'rb') as stream:
                items = stream.read().split(b'\0')
            with open('/proc/%d/stat' % pid) as stream:
                pid = int(stream.read().rpartition(')')[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
        value = next((item.partition(b'=')[2].decode(errors='replace')
                      for item in items
                      if item.startswith(b'SSH_CONNECTION=')), None)
    words = value.split() if value else []
    return words if len(words) == 4 else None


def device(kernel, words):
    """The name of the interface of an SSH connection (see connection()): the
    one by which packets to the peer go; or None."""
    if words is None:
        return None
    peer, _peer_port, own, _own_port = (
        word.removeprefix('::ffff:') for word in words)
    if '%' in peer:             # Link-local, with its interface.
        return peer.partition('%')[2]
    return kernel.way(peer, own) or kernel.way(peer)


def refuse(name, steps, system):
    """Fails if STEPS, the plan, would take over the interface NAME."""
    for step in steps:
        if name and step.kind in ('port', 'addresses') and name == (
                step.name if step.kind == 'port' else step.nic) \
                and not step.is_set(system):
            raise Failure('%s: you are logged in through it (--force takes it'
                          ' all the same)' % name)


def refuse_undo(name, steps):
    """Fails if taking back STEPS would take the interface NAME away."""
    for step in steps:
        if name and step.kind in ('bridge', 'addresses') and name == (
                step.name if step.kind == 'bridge' else step.device):
            raise Failure('%s: you are logged in through it (--force takes it'
                          ' back all the same)' % name)
