# SPDX-License-Identifier: Apache-2.0
"""The page: its map, that nothing in it escapes, that it needs nothing."""
import html.parser
import os
import re
import stat
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

import test_view_figures
from ovs_multinic import figures, page, railmap, report, way
from ovs_multinic.errors import Failure

HOSTILE = '"><script>alert(1)</script><img src=x onerror=y>\x00\x1b[2J\u202e'
STATES = list(way.STATES)


def some_way(local, remote, state='ok', chassis=None, reason='for a reason'):
    """A Way."""
    return way.Way(local, remote, 't', chassis, state, reason, 'br-nic1',
                   '10.1.1.254', '02:fa:b0:00:01:01')


def mesh(locals_, remotes):
    """Ways of all pairs, with all states."""
    return [some_way('10.1.%d.1' % i, '10.2.%d.1' % j,
                     STATES[(i + 2 * j) % len(STATES)])
            for i in range(locals_) for j in range(remotes)]


def cells(maps):
    """The cells of MAPS as (local, remote): (state, title), each once."""
    found = {}
    for svg in maps:
        for group in ElementTree.fromstring(svg).iter(
                '{http://www.w3.org/2000/svg}g'):
            kind = group.get('class').split()
            if kind[0] == 'cell':
                title = group[0].text
                key = re.match(r'(\S+) to ([^\s,]+)', title).groups()
                assert key not in found, key
                found[key] = kind[1], title
    return found


class Page(html.parser.HTMLParser):
    """What there is in a page, and whether its tags are balanced."""
    VOID = {'meta', 'br'}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], set(), []
        self.text = ''
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


def render(**fields):
    """The page of a sample, as text and as Page."""
    view = figures.Figures()
    view.add(test_view_figures.sample(10, **fields))
    text = page.page(view, fields.get('host', 'gpu-01'), time.gmtime(0))
    return text, Page(text)


class Map(unittest.TestCase):
    def test_one_cell_per_pair(self):
        for locals_, remotes in (1, 1), (4, 4), (8, 8), (8, 200):
            ways = mesh(locals_, remotes)
            found = cells(railmap.draw(ways))
            self.assertEqual(len(found), locals_ * remotes)
            for row in ways:
                state, title = found[row.local, row.remote]
                self.assertEqual(state, row.state)
                self.assertIn(row.reason, title)
                self.assertIn(way.STATES[row.state], title)

    def test_no_tunnel(self):
        ways = [some_way('10.1.0.1', '10.2.0.1'),
                some_way('10.1.1.1', '10.2.1.1', 'dropped')]
        self.assertEqual(
            {key: state for key, (state, _) in
             cells(railmap.draw(ways)).items()},
            {('10.1.0.1', '10.2.0.1'): 'ok', ('10.1.0.1', '10.2.1.1'): 'none',
             ('10.1.1.1', '10.2.0.1'): 'none',
             ('10.1.1.1', '10.2.1.1'): 'dropped'})

    def test_families_apart(self):
        ways = [some_way('10.1.0.1', '10.2.0.1'),
                some_way('2001:db8::1', '2001:db8::2')]
        maps = railmap.draw(ways)
        self.assertEqual(len(maps), 2)
        self.assertEqual(len(cells(maps)), 2)

    def test_hosts_stay_together(self):
        ways = [some_way('10.1.0.1', '10.2.0.%d' % n, chassis='hv%d'
                         % (n % 2)) for n in range(4)]
        svg, = railmap.draw(ways)
        remotes = re.findall(r'rotate\(-90\)">([^<]+)<', svg)
        self.assertEqual(remotes, ['10.2.0.0', '10.2.0.2', '10.2.0.1',
                                   '10.2.0.3'])
        self.assertEqual(railmap.groups([('a', 'x'), ('b', 'x'), ('c', None),
                                         ('d', 'y')]),
                         [('x', 0, 2), ('y', 3, 1)])

    def test_fits_a_page(self):
        for remotes in 16, 17, 64, 65, 200:
            for svg in railmap.draw(mesh(8, remotes)):
                width = int(ElementTree.fromstring(svg).get('width'))
                self.assertLessEqual(width, 1100)

    def test_nothing(self):
        self.assertEqual(railmap.draw([]), [])

    def test_symbols(self):
        """Who sees no colours has a symbol of its own for each state."""
        self.assertEqual(set(railmap.SYMBOLS), set(STATES) | {'none'})
        self.assertEqual(len(set(railmap.SYMBOLS.values())),
                         len(railmap.SYMBOLS))


class Escape(unittest.TestCase):
    def test_safe(self):
        self.assertEqual(railmap.safe('<a b="c">&\'\x00\x1b\u202e\ud800'),
                         '&lt;a b=&quot;c&quot;&gt;&amp;&#x27;' + '\ufffd' * 4)

    def test_hostile_names(self):
        one = test_view_figures.sample(10)
        show = one.show
        show['order'] = [HOSTILE]
        show['endpoints'][0].update(
            ip=HOSTILE, device=HOSTILE, bridge=HOSTILE, reason=HOSTILE,
            origins=[HOSTILE], eswitch=HOSTILE)
        show['endpoints'][0]['uplinks'][0].update(name=HOSTILE,
                                                  eswitch=HOSTILE)
        ways = [way.Way(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 'dropped',
                        HOSTILE, HOSTILE, HOSTILE, HOSTILE)]
        text, parsed = render(
            show=show, ways=ways, host=HOSTILE,
            problems=[{'severity': 'error', 'object': HOSTILE,
                       'problem': HOSTILE, 'mend': HOSTILE}],
            coverage={'encap_' + HOSTILE: 1})
        self.assertFalse(parsed.tags & {'script', 'img'})
        self.assertFalse(re.search('[\x00-\x09\x0b-\x1f\u202e]', text))
        self.assertGreater(text.count('&lt;script&gt;'), 15)
        for svg in re.findall('<svg class="map".*?</svg>', text, re.DOTALL):
            ElementTree.fromstring(svg)

    def test_needs_nothing_else(self):
        _, parsed = render(ways=mesh(2, 2))
        self.assertFalse(parsed.tags & {'script', 'link', 'img', 'iframe',
                                        'object', 'embed', 'form'})
        for name, value in parsed.attributes:
            self.assertFalse(name.startswith('on') or name == 'src', name)
            if name == 'href':
                self.assertTrue(value.startswith('#way-'), value)
        self.assertNotRegex(page.STYLE, r'url\(|@import')


class Write(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, 'page')

    def test_file(self):
        for text in 'a' * 9999, '\u20ac':
            report.write(self.path, text)
            with open(self.path, encoding='utf-8') as stream:
                self.assertEqual(stream.read(), text)
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ['page'])

    def test_link(self):
        other = self.path + '.other'
        os.symlink(other, self.path)
        for text in 'a' * 9999, '\u20ac':
            report.write(self.path, text)
            self.assertEqual(os.readlink(self.path), other)
            with open(other, encoding='utf-8') as stream:
                self.assertEqual(stream.read(), text)

    def test_pipe(self):
        """As /dev/null, which a root must not replace."""
        os.mkfifo(self.path)
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        report.write(self.path, 'abc')
        self.assertEqual(os.read(reader, 99), b'abc')
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path).st_mode))

    def test_directory(self):
        os.mkdir(self.path)
        with self.assertRaises(Failure) as caught:
            report.write(self.path, 'a')
        self.assertEqual(str(caught.exception),
                         self.path + ': Is a directory')


class Contents(unittest.TestCase):
    def test_everything_is_there(self):
        text, parsed = render(ways=mesh(4, 4))
        for word in ('gpu-01', '1970-01-01 00:00:00', 'ip link set nic3 up',
                     'no uplink of br-nic3 has a link', '10.1.4.1',
                     'tunnel_egress_no_route', 'for a reason', 'br-nic2',
                     'nic2b', 'ovn-encap-ip'):
            self.assertIn(word, parsed.text, word)
        ids = set(re.findall(' id="(way-[a-z]+)"', text))
        self.assertTrue(set(re.findall('href="#(way-[a-z]+)"', text)) <= ids)

    def test_no_problems_no_ways(self):
        _, parsed = render(problems=[], coverage={})
        self.assertIn('No problem found', parsed.text)
        self.assertIn('No tunnel leads', parsed.text)
        self.assertIn('No drops', parsed.text)

    def test_unknown(self):
        _, parsed = render(problems=None, show={
            'order': [], 'failover': False, 'strict-rx': False,
            'endpoints': [], 'pins': []})
        self.assertIn('Could not be looked for', parsed.text)
        self.assertIn('routing alone decides', parsed.text)

    def test_many(self):
        """The table of what does not work does not grow with the host."""
        began = time.process_time()
        text, _ = render(ways=mesh(8, 200))
        self.assertLess(time.process_time() - began, 5)
        self.assertLess(len(text), 3e6)
        shown, _, rest = text.partition('<details>')
        self.assertEqual(shown.count('for a reason</td>'), page.MAX_BAD)
        self.assertEqual(rest.count('for a reason</td>'), 1600)


if __name__ == '__main__':
    unittest.main()
