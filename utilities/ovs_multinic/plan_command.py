# SPDX-License-Identifier: Apache-2.0
"""Prints what "apply" with the same arguments would set, in that order.

A "+" marks what is not so now.  Nothing is changed; only --networkd and
--sysctl write files.
"""
from ovs_multinic import arguments as a
from ovs_multinic import database
from ovs_multinic import kernel as k
from ovs_multinic import networkd
from ovs_multinic.words import safe


def add_arguments(parser):
    """Adds the arguments of this subcommand."""
    a.add_arguments(parser)
    parser.add_argument('--json', action='store_true',
                        help='print JSON, which "apply --plan" takes')
    parser.add_argument('--state', metavar='FILE',
                        help='as of "apply"; of no use here')
    networkd.add_directory(parser, None)
    database.add_arguments(parser)


def run(arguments):
    """Prints the plan; returns the exit status."""
    requests = a.parse(arguments)
    system = a.connect(arguments)
    made = a.make(arguments, requests, system)
    if arguments.json:
        print(a.to_json(made))
    else:
        for step in made:
            is_set = step.is_set(system)
            print(safe('%s %s' % (' ' if is_set else '+', step.text())))
            if not is_set and step.kind == 'addresses':
                print_moved(step.before(system))
    networkd.write(made, arguments, a.complain)
    return 0


def print_moved(before):
    """Prints what addresses that move take along."""
    for address in before['moved']:
        print('    moves %s' % address['address'])
    for route in before['routes']:
        print('    moves %s' % k.route_text(route))
