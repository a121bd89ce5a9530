# SPDX-License-Identifier: Apache-2.0
"""The ways of tunnel packets: from each local address to each remote one.

Pure: tunnels as the database has them and answers of "encap/trace" go in.
"""
import collections
import dataclasses
import ipaddress
import re

# From worst to best, with a name for users.
STATES = {
    'dropped': 'dropped',
    'astray': 'leaves by another NIC',
    'unresolved': 'neighbour not known yet',
    'unknown': 'not known',
    'ok': 'works',
}

# UDP ports where a tunnel port names none: RFC 8926, RFC 7348 and RFC 6830,
# those of IANA for the others.
DPORTS = {'geneve': 6081, 'vxlan': 4789, 'lisp': 4341, 'stt': 7471,
          'gtpu': 2152, 'bareudp': 0}


@dataclasses.dataclass
class Tunnel:
    """A tunnel port."""
    name: str
    local: str                  # An address, "flow", or None.
    remote: str                 # An address or "flow".
    chassis: str = None         # Who OVN says is at the other end.
    # What else of its packets rules may look at, for "encap/trace".
    fixed: tuple = ()


@dataclasses.dataclass(frozen=True)
class Pair:
    """What there is a way for."""
    local: str
    remote: str
    port: str                   # The tunnel port.
    chassis: str
    arguments: tuple            # What "encap/trace" takes for it.


@dataclasses.dataclass
class Way:
    """A row."""
    local: str
    remote: str
    port: str
    chassis: str
    state: str                  # One of STATES.
    reason: str
    bridge: str = None          # That it leaves by.
    next_hop: str = None
    mac: str = None


def is_ipv6(address):
    """True if ADDRESS, well-formed, is of IPv6."""
    return ':' in address


def leading_number(text, limit):
    """The decimal number at the start of TEXT, as ovs-vswitchd reads it."""
    found = re.match(r'\s*\+?([0-9]+)', text)
    return int(found.group(1)) & limit if found else 0


def fixed(kind, options):
    """What a tunnel port of type KIND with OPTIONS gives all its packets
    besides addresses, as arguments of "encap/trace"."""
    dport = DPORTS.get(kind, 0)
    if kind in DPORTS and 'dst_port' in options:
        dport = leading_number(options['dst_port'], 0xffff)
    words = ['dport=%d' % dport]
    text = options.get('tos', '0')
    try:
        tos = int(text, 8 if re.fullmatch('0[0-7]+', text) else 0)
    except ValueError:          # "inherit", too.
        tos = 0
    if tos and tos == tos & 0xfc:       # The DSCP; others it does not take.
        words.append('tos=%d' % tos)
    if 'egress_pkt_mark' in options:
        words.append('mark=%d' % leading_number(options['egress_pkt_mark'],
                                                0xffffffff))
    return tuple(words)


def pairs(tunnels, locals_, seen, down=()):
    """Returns the Pairs of TUNNELS, each once, by local and remote address.

    A tunnel without a fixed local address can take any of LOCALS_ of the
    remote's family; one without a fixed remote address takes those that SEEN,
    pairs of addresses from the datapath, has.  Where the switch chooses, it
    passes over those that are DOWN, unless all are."""
    result = {}
    chosen = [local for local in locals_ if local not in down] or locals_
    flow_remotes = {remote for _, remote in seen}
    for tunnel in sorted(tunnels, key=lambda tunnel: (
            tunnel.local in (None, 'flow'), tunnel.remote == 'flow')):
        flow_local = tunnel.local in (None, 'flow')
        flow_remote = tunnel.remote == 'flow'
        for remote in flow_remotes if flow_remote else [tunnel.remote]:
            for local in (chosen if tunnel.local is None else
                          locals_ if flow_local else [tunnel.local]):
                if is_ipv6(local) != is_ipv6(remote):
                    continue
                # Where the port has no local_ip, a source is what a choice
                # ends with, and not an argument of the port: what else the
                # port says goes without its name.
                given = [] if tunnel.local is None else [
                    'tunnel=' + tunnel.name]
                given += ['src=' + local] if flow_local else []
                given += (['dst=' + remote]
                          if flow_remote or tunnel.local is None else [])
                given += tunnel.fixed if tunnel.local is None else ()
                result.setdefault((local, remote), Pair(
                    local, remote, tunnel.name, tunnel.chassis,
                    tuple(given)))
    order = {local: number for number, local in enumerate(locals_)}
    return sorted(result.values(), key=lambda pair: (
        order.get(pair.local, len(order)), pair.local,
        address_key(pair.remote)))


def take_turns(pairs_):
    """PAIRS_ so that each local address comes as early as any other."""
    number = collections.Counter()

    def turn(pair):
        number[pair.local] += 1
        return number[pair.local]

    return sorted(pairs_, key=turn)


def normal(address):
    """ADDRESS as ovs-vswitchd writes it, or as it is if it is none."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


def address_key(address):
    """To sort addresses by number, what is none last."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return 1, 0, 0, address
    return 0, number.version, int(number), address


PUSH = re.compile(r'tnl_push\(.*?ipv[46]\(src=([^,()]+),dst=([^,()]+)')
POP = re.compile(r'tunnel\([^()]*?\b(?:ipv6_)?src=([^,()/]+)[^()]*?'
                 r'\b(?:ipv6_)?dst=([^,()/]+)')


def parse_flows(text):
    """The pairs (local, remote) of the tunnel packets that "dpctl/dump-flows"
    shows."""
    return (set(PUSH.findall(text))
            | {(dst, src) for src, dst in POP.findall(text)})


def judge(pair, trace, bridges):
    """Returns the Way of PAIR for TRACE, what "encap/trace" answered, or a
    line of text that says why there is no answer.  BRIDGES has the bridge of
    each local address, None for one that any NIC may send."""
    fields = {'local': pair.local, 'remote': pair.remote, 'port': pair.port,
              'chassis': pair.chassis}
    if isinstance(trace, str):
        return Way(state='unknown', reason=trace, **fields)
    neighbor = trace.get('neighbor') or {}
    source = (trace.get('route') or {}).get('src')
    bridge, next_hop = neighbor.get('bridge'), neighbor.get('ip')
    fields.update(bridge=bridge, next_hop=next_hop, mac=neighbor.get('mac'))
    home = bridges.get(pair.local)
    if trace.get('dropped', True):
        return Way(state='dropped', reason=trace.get('reason'), **fields)
    if source not in (None, pair.local):
        return Way(state='astray', reason='%s sends in its place, by %s'
                   % (source, trace.get('by')), **fields)
    if home not in (None, bridge):
        return Way(state='astray', reason='leaves by %s, but %s is on %s'
                   % (bridge, pair.local, home), **fields)
    if fields['mac'] is None:
        return Way(state='unresolved', reason='the MAC of %s is not known yet'
                   % next_hop, **fields)
    return Way(state='ok', reason='leaves by %s' % trace.get('by'), **fields)
