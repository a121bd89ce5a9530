# SPDX-License-Identifier: Apache-2.0
"""Network devices that are borrowed from this machine, and given back as they
were."""
import json

import lab


class Devices:
    """What was borrowed.  HOME is a name of the namespace they are from."""

    def __init__(self, home):
        self.home = home
        self.borrowed = {}      # Name: (namespace or None, link as it was).

    def show(self, name, where=None):
        """The link NAME in namespace WHERE (the home), as ip(8) says."""
        return json.loads(lab.run('ip', '-n', where or self.home, '-j', '-d',
                                  'link', 'show', 'dev', name))[0]

    @staticmethod
    def state(link):
        """What is restored of a link."""
        return {'up': 'UP' in link['flags'], 'mtu': link['mtu'],
                'address': link['address'],
                'promisc': 'PROMISC' in link['flags']}

    def borrow(self, name, where=None, **changes):
        """Takes NAME into namespace WHERE if given, makes CHANGES as words of
        "ip link set", and sets it up."""
        if name in self.borrowed:
            return
        # Before the first change.
        self.borrowed[name] = (where, self.state(self.show(name)))
        if where:
            lab.run('ip', '-n', self.home, 'link', 'set', name, 'netns', where)
        for key, value in changes.items():
            self.set(name, where, key, value)
        self.set(name, where, 'up')

    def set(self, name, where, *words):
        """Changes a link."""
        lab.run('ip', '-n', where or self.home, 'link', 'set', 'dev', name,
                *words)

    def give_back(self):
        """Gives all back.  Returns {name: None, or what is not as before}."""
        result = {}
        for name, (where, before) in self.borrowed.items():
            try:
                result[name] = self.restore(name, where, before)
            except (AssertionError, ValueError, IndexError) as error:
                result[name] = str(error)
        self.borrowed = {}
        return result

    def restore(self, name, where, before):
        """Gives one back."""
        if where:
            lab.run('ip', '-n', where, 'link', 'set', name, 'netns',
                    self.home)
        now = self.state(self.show(name))
        if now['address'] != before['address']:
            self.set(name, None, 'address', before['address'])
        if now['mtu'] != before['mtu']:
            self.set(name, None, 'mtu', str(before['mtu']))
        for key, yes, no in (('promisc', ('promisc', 'on'),
                              ('promisc', 'off')), ('up', ('up',),
                                                    ('down',))):
            if now[key] != before[key]:
                self.set(name, None, *(yes if before[key] else no))
        now = self.state(self.show(name))
        wrong = ['%s is %s, was %s' % (key, now[key], before[key])
                 for key in before if now[key] != before[key]]
        return ', '.join(wrong) or None
