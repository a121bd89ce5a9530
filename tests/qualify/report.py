# SPDX-License-Identifier: Apache-2.0
"""What hw-qualify has found."""
import json
import time

OK, FAILED, SKIPPED = 'ok', 'failed', 'skipped'
SECTIONS = {
    'machine': 'The machine',
    'shapes': 'Rules that the product asks for',
    'traffic': 'Traffic',
    'restore': 'What was changed, and is as before',
}


class Report:
    """Checks, measurements, and what they are about."""

    def __init__(self, **about):
        self.about = {**about, 'begun': time.strftime(
            '%Y-%m-%dT%H:%M:%SZ', time.gmtime())}
        self.checks = []
        self.measurements = []

    def check(self, section, name, status, detail=''):
        """Adds a check and prints its line, so that an operator sees how far
        it is."""
        self.checks.append({'section': section, 'name': name,
                            'status': status, 'detail': detail})
        print(line(self.checks[-1]), flush=True)

    def measure(self, name, value, detail=''):
        """Adds a measurement; VALUE is None if there could be none, and DETAIL
        says why."""
        self.measurements.append({'name': name, 'value': value,
                                  'detail': detail})
        print(line_of_measurement(self.measurements[-1]), flush=True)

    def count(self, status):
        """How many checks ended so."""
        return sum(check['status'] == status for check in self.checks)

    def summary(self):
        """The last line."""
        return 'hw-qualify: %d passed, %d failed, %d skipped' % tuple(
            self.count(status) for status in (OK, FAILED, SKIPPED))

    def text(self):
        """All of it, for people."""
        lines = ['Qualification of NICs for the offload of tunnels', '']
        lines += ['%s: %s' % item for item in sorted(self.about.items())]
        for section, title in SECTIONS.items():
            checks = [check for check in self.checks
                      if check['section'] == section]
            if checks:
                lines += ['', title, ''] + [line(check) for check in checks]
        if self.measurements:
            lines += ['', 'Measurements', '']
            lines += map(line_of_measurement, self.measurements)
        return '\n'.join(lines + ['', self.summary(), ''])

    def write(self, path):
        """Writes PATH.txt and PATH.json."""
        with open(path + '.txt', 'w') as stream:
            stream.write(self.text())
        with open(path + '.json', 'w') as stream:
            json.dump({'about': self.about, 'checks': self.checks,
                       'measurements': self.measurements}, stream, indent=1)
            stream.write('\n')


def line(check):
    """One check in one line."""
    return '%-8s%s%s' % (check['status'], check['name'],
                         ': ' + check['detail'] if check['detail'] else '')


def line_of_measurement(measurement):
    """One measurement in one line."""
    value, detail = measurement['value'], measurement['detail']
    return '%-8s%s: %s' % (
        'value' if value is not None else 'none', measurement['name'],
        detail if value is None else '%s%s' % (
            value, ' (%s)' % detail if detail else ''))
