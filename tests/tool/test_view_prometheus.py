# SPDX-License-Identifier: Apache-2.0
"""What Prometheus gets."""
import argparse
import os
import re
import unittest

import test_view_figures
import view_daemons
from ovs_multinic import figures, way

try:
    import prometheus_client
    from prometheus_client import parser
    from ovs_multinic import prometheus
except ImportError as error:
    raise unittest.SkipTest(str(error)) from error

DOCUMENT = os.path.join(view_daemons.TOP, 'Documentation',
                        'ovs-multinic-view.rst')
WAYS = [way.Way('10.1.1.1', '10.2.1.1', 't', None, 'ok', '', 'br-nic1',
                '10.1.1.254', '02:fa:b0:00:01:01'),
        way.Way('10.1.2.1', '10.2.1.1', 't', None, 'unresolved', '',
                'br-nic2', '10.1.2.254')]
NICS = {'nic1': {'link': 'up', 'at': None,
                 'counters': dict(zip(figures.COUNTERS + figures.LOSSES,
                                      range(1, 9)))}}


def scrape(sample):
    """The text of a scrape of SAMPLE."""
    class Source:
        @staticmethod
        def sample():
            return sample

    registry = prometheus_client.CollectorRegistry(auto_describe=False)
    registry.register(prometheus.Exporter(Source))
    return prometheus_client.generate_latest(registry).decode()


def metrics(text):
    """The families by name, and all samples as {(name, labels): value}."""
    families, samples = {}, {}
    for family in parser.text_string_to_metric_families(text):
        families[family.name] = family
        for sample in family.samples:
            key = sample.name, *sorted(sample.labels.items())
            assert key not in samples, key
            samples[key] = sample.value
    return families, samples


class Scrape(unittest.TestCase):
    def setUp(self):
        self.families, self.samples = metrics(scrape(
            test_view_figures.sample(10, 2, ways=WAYS, nics=NICS)))

    def value(self, name, **labels):
        return self.samples[('ovs_multinic_' + name,
                             *sorted(labels.items()))]

    def test_endpoints(self):
        self.assertEqual(self.value('up'), 1)
        self.assertEqual(self.value('database_up'), 1)
        self.assertEqual(self.value('endpoint_up', ip='10.1.1.1'), 1)
        self.assertEqual(self.value('endpoint_up', ip='10.1.3.1'), 0)
        self.assertEqual(self.value('endpoint_flow_transmit_bytes',
                                    ip='10.1.1.1'), 4e6)
        self.assertEqual(self.value('endpoint_offloaded_flows',
                                    ip='10.1.1.1'), 6)
        self.assertEqual(self.value(
            'endpoint_info', ip='10.1.3.1', device='br-nic3',
            bridge='br-nic3', eswitch='mlx5_pci domain 2', numa='1',
            default='false'), 1)

    def test_nics(self):
        for number, name in enumerate((
                'transmit_packets', 'transmit_bytes', 'receive_packets',
                'receive_bytes', 'transmit_dropped', 'receive_dropped',
                'transmit_errors', 'receive_errors'), 1):
            self.assertEqual(self.value('nic_%s_total' % name, nic='nic1'),
                             number)
        self.assertEqual(self.value('nic_up', nic='nic2b'), 0)
        self.assertNotIn(('ovs_multinic_nic_transmit_bytes_total',
                          ('nic', 'nic2b')), self.samples)

    def test_others(self):
        self.assertEqual(self.value('drops_total',
                                    reason='tunnel_egress_no_route',
                                    counts='translations'), 10)
        self.assertEqual(self.value('drops_total',
                                    reason='tunnel_ingress_refused',
                                    counts='packets'), 2)
        self.assertEqual(self.value('events_total',
                                    event='neighbor_request_sent'), 75)
        self.assertEqual(self.value('neighbor_known', ip='10.1.1.254',
                                    bridge='br-nic1'), 1)
        self.assertEqual(self.value('neighbor_known', ip='10.1.2.254',
                                    bridge='br-nic2'), 0)
        self.assertEqual(self.value('ways', state='ok'), 1)
        self.assertEqual(self.value('ways', state='dropped'), 0)
        self.assertEqual(self.value('problems', severity='warning'), 1)

    def test_names_tell_kinds(self):
        """What falls when flows end, or goes both ways, is no counter."""
        for name, family in self.families.items():
            counts = bool(re.search('_nic_(transmit|receive)_|_drops$|'
                                    '_events$', name))
            self.assertEqual(family.type, 'counter' if counts else 'gauge',
                             name)
            self.assertTrue(family.documentation.endswith('.'), name)

    def test_documented(self):
        with open(DOCUMENT, encoding='utf-8') as stream:
            listed = set(re.findall(r'^``(ovs_multinic_\w+)',
                                    stream.read(), re.MULTILINE))
        exported = {key[0] for key in self.samples}
        self.assertEqual(exported - listed, set(), 'not documented')
        self.assertEqual(listed - exported, set(), 'not exported')

    def test_away(self):
        _, samples = metrics(scrape(figures.Sample(
            at=1, error='gone', database_error='gone')))
        self.assertEqual(samples, {('ovs_multinic_up',): 0,
                                   ('ovs_multinic_database_up',): 0})

    def test_database_away(self):
        families, samples = metrics(scrape(test_view_figures.sample(
            10, database_error='gone')))
        self.assertEqual(samples['ovs_multinic_up',], 1)
        self.assertEqual(samples['ovs_multinic_database_up',], 0)
        self.assertFalse([key for key in samples
                          if key[0].startswith('ovs_multinic_nic_rec')])

    def test_hostile_names(self):
        one = test_view_figures.sample(10)
        name = 'a"} 1\n# HELP x\\'
        one.show['endpoints'][0].update(device=name, mtu=None)
        _, samples = metrics(scrape(one))
        self.assertIn(('device', name),
                      [label for key in samples for label in key[1:]])
        self.assertNotIn(('ovs_multinic_endpoint_mtu_bytes',
                          ('ip', '10.1.1.1')), samples)


class Address(unittest.TestCase):
    def test_good(self):
        for text, pair in (('127.0.0.1:9476', ('127.0.0.1', 9476)),
                           ('[::1]:80', ('::1', 80)),
                           ('0.0.0.0:0', ('0.0.0.0', 0))):
            self.assertEqual(prometheus.address(text), pair)
            self.assertEqual(prometheus.place(pair), text)

    def test_bad(self):
        for text in ('', '9476', ':9476', '127.0.0.1', '127.0.0.1:',
                     '127.0.0.1:65536', '127.0.0.1:-1', '127.0.0.1:x',
                     '::1:80', '[::1]', '[127.0.0.1]:80', 'localhost:80',
                     '[::1:80', '127.0.0.1:\u0663'):
            with self.assertRaises(argparse.ArgumentTypeError) as caught:
                prometheus.address(text)
            self.assertTrue(str(caught.exception).startswith(text + ': not'))


if __name__ == '__main__':
    unittest.main()
