# SPDX-License-Identifier: Apache-2.0
"""What only a real NIC can tell."""
import statistics
import time

import host
import packets
import shapes

# What the product does not depend on, so that nothing asks it.
NOT_ASKED = (
    ('effect of lengths and checksums in the encap header',
     'the product gives zeros'),
    ('longest Geneve option that can be matched',
     'the product matches 4 bytes'),
    ('rules towards a representor that was closed',
     'the product removes them first'),
)
BATCH = 1000


def run(setup, report, limit):
    """All of them; LIMIT is up to how many encap contexts are tried."""
    for name, why in NOT_ASKED:
        report.measure(name, None, why)
    shapes.with_trial(setup, lambda trial: by_shapes(trial, report, limit))
    one = setup.make()
    try:
        by_packets(setup, one, report)
    finally:
        one.close()


# By flows that no packet is for.

def by_shapes(trial, report, limit):
    """Rates and limits."""
    flows = trial.flows
    for kind, family in shapes.TUNNELS:
        report.measure('rules a second, egress, %s over IPv%d' % (
            kind, family), *rate(trial, [], [
                flows.egress(kind, family, match='udp:%d' % port)
                for port in range(1, BATCH + 1)]))
        option = {'option': shapes.OVN} if kind == 'geneve' else {}
        report.measure('rules a second, rule B%s, %s over IPv%d' % (
            ' with option' if option else '', kind, family),
            *rate(trial, [flows.outer(kind, family)], [
                flows.ingress(kind, family, match='udp:%d' % port, **option)
                for port in range(1, BATCH + 1)]))
    report.measure('encap contexts', *contexts(trial, limit))
    report.measure('match of ICMP type', *icmp(trial))


def rate(trial, first, flows):
    """(rules a second, detail) of FLOWS."""
    try:
        if first:
            trial.add(first)
            trial.wait(len(first))
        begun = trial.add(flows)
        offloaded, software = trial.wait(len(first) + len(flows), 120)
        seconds = time.monotonic() - begun
        if offloaded < len(first) + len(flows):
            return None, 'only %d were accepted: %s' % (offloaded,
                                                        ', '.join(software))
        return round(len(flows) / seconds), '%d rules' % len(flows)
    except AssertionError as error:
        return None, str(error)
    finally:
        trial.clear()


def contexts(trial, limit):
    """(how many distinct headers a NIC takes, detail), up to LIMIT."""
    flows = [trial.flows.egress('geneve', 4, vni=vni, match='udp:%d' % (
        vni & 0xffff)) for vni in range(1, min(limit, 0xffff) + 1)]
    try:
        trial.add(flows)
        offloaded, software = trial.wait(len(flows), 300)
        return offloaded, (', '.join(software) or
                           'as many as were tried, see --limit')
    except AssertionError as error:
        return None, str(error)
    finally:
        trial.clear()


def icmp(trial):
    """What becomes of a rule that matches it, which needs another profile of
    the firmware than options do."""
    status, detail = trial.try_shape([trial.flows.egress(
        'geneve', 4, match='icmp:8')], shapes.OFFLOADED)
    return 'accepted' if status == shapes.OK else 'refused', detail


# By packets.

def by_packets(setup, one, report):
    """Counters, ports and checksums."""
    one.flows('in_port=vm1a,actions=set_field:5->tun_id,output:t1\n'
              'in_port=t1,tun_id=5,actions=vm1a')
    for name, vf, wire, measure in (
            ('seconds until a counter shows a packet', True, False, lag),
            ('UDP source ports of 64 flows', True, True, entropy),
            ('packets with a wrong outer UDP checksum', True, True,
             wrong_checksum)):
        if (vf and not setup.has_far(1)
                or wire and not setup.has_far(1, vf=False)):
            report.measure(name, None, 'needs a VF here' if not wire
                           else 'needs a VF and a peer')
            continue
        try:
            report.measure(name, *measure(one))
        except AssertionError as error:
            report.measure(name, None, str(error))


def into_nic(one, source, frame):
    """Sends FRAME until the NIC forwards it."""
    def forwarded():
        polled, done = one.polled(), one.forwarded()
        one.far[source].send(frame)
        try:
            host.until('counted', lambda: one.forwarded() > done, 2)
        except AssertionError:
            return False
        return one.polled() == polled
    host.until('%s: in the NIC' % source, forwarded, 20)


def lag(one):
    """How late counters are."""
    frame = packets.inner('udp')
    into_nic(one, 'vm1a', frame)
    lags = []
    for _ in range(5):
        done, begun = one.forwarded(), time.monotonic()
        one.far['vm1a'].send(frame)
        host.until('counted', lambda: one.forwarded() > done, 10)
        lags.append(time.monotonic() - begun)
    return round(max(lags), 2), 'the worst of 5; median %.2f' % (
        statistics.median(lags))


def entropy(one):
    """What outer source ports the NIC gives to flows of the workload."""
    into_nic(one, 'vm1a', packets.inner('udp'))
    one.hear()
    ports = []

    def all_here():
        ports.extend(packets.Tunnel(frame).source_port
                     for frame in one.hear().get('nic1', [])
                     if packets.Tunnel(frame).found)
        return len(ports) >= 64
    for sport in range(64):
        one.far['vm1a'].send(packets.inner('udp', sport=1000 + sport))
    host.until('64 packets on the wire', all_here)
    return len(set(ports)), 'different ones, from %#x to %#x' % (
        min(ports), max(ports))


def wrong_checksum(one):
    """Whether the VF gets them."""
    frame = packets.inner('udp', outgoing=False)
    into_nic(one, 'nic1', packets.outer(one, 1, frame))
    one.hear()
    heard = []
    one.far['nic1'].send(packets.outer(one, 1, frame, chksum=0x1234))
    one.far['nic1'].send(packets.outer(one, 1, packets.inner(
        'udp', b'good', outgoing=False)))

    def good():
        heard.extend(one.hear().get('vm1a', []))
        return any(b'good' in got for got in heard)
    host.until('a good packet passes', good)
    return ('forwarded' if frame in heard else 'dropped',
            'software drops them')
