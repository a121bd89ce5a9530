# SPDX-License-Identifier: Apache-2.0
"""The far end of a port that is on another machine, behind responder.py."""
import socket
import time

import responder


class Remote:
    """Does what wire.Wire does.  Raises AssertionError, with one line that
    begins with the peer's name, if the responder does not."""

    def __init__(self, address, port):
        self.name = 'peer %s port %d' % (address, port)
        self.number = 0
        self.lines = self.why = None
        try:
            self.lines = responder.Lines(socket.create_connection(
                (address, port), responder.ANSWER))
            self.greet()
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise self.fault(error) from None
            raise

    def greet(self):
        """Makes sure that both ends mean the same."""
        self.lines.send(version=responder.VERSION)
        versions = []
        self.wait(lambda key, value: key == 'version'
                  and not versions.append(value))
        if versions != [responder.VERSION]:
            raise self.fault('has version %s of responder.py, not %d: copy it '
                             'again' % (versions[0], responder.VERSION))

    def fault(self, why):
        """What to raise, now and from now on."""
        self.why = self.why or getattr(why, 'strerror', None) or str(why)
        return AssertionError('%s: %s' % (self.name, self.why))

    @property
    def socket(self):
        """For select()."""
        return self.lines.socket

    def wait(self, last):
        """Listens until LAST(key, value), which gets all that is said, is
        true.  Does not wait again for who did not answer."""
        if self.why:
            raise self.fault(self.why)
        end, done = time.monotonic() + responder.ANSWER, False
        try:
            while not done:
                if time.monotonic() > end:
                    raise self.fault('no answer')
                for key, value in self.lines.receive():
                    if key == 'error':
                        raise self.fault('says: %s' % value)
                    done = last(key, value) or done
        except socket.timeout:
            raise self.fault('no answer') from None
        except (responder.Ended, OSError) as error:
            raise self.fault(error) from None

    def send(self, frame):
        """Sends one frame into the port."""
        try:
            self.lines.send(send=frame.hex())
        except OSError as error:
            raise self.fault(error) from None

    def receive(self):
        """The frames that have come out of the port since the last call."""
        frames = []
        self.number += 1

        def last(key, value):
            if key == 'heard':
                frames.append(self.frame(value))
            return (key, value) == ('sync', self.number)
        try:
            self.lines.send(sync=self.number)
        except OSError:
            pass                        # The other end has said why.
        self.wait(last)
        return frames

    def frame(self, text):
        """A frame as it is said."""
        try:
            return bytes.fromhex(text)
        except (TypeError, ValueError):
            raise self.fault('a frame that is not hexadecimal') from None

    def close(self):
        """Ends it, and waits until the responder is ready for the next."""
        if not self.lines:
            return
        try:
            self.lines.socket.shutdown(socket.SHUT_WR)
            while self.lines.socket.recv(1 << 16):
                pass
        except OSError:
            pass
        self.lines.close()
        self.lines = None
