"""Fake the date for Python code where the machine has no library that does it for all code.

Runs inside the sandbox under Python 3.6 and later; see the package's docstring. What C code asks of the
system it still gets right; child processes too. A run with the offset 0 shows what the faking itself breaks.
"""
# ruff: noqa: ICN001

import copyreg
import datetime
import select
import time


class DateKind(type):
    """Takes what the real classes make for its own: they are made where nobody asked the clock."""

    def __instancecheck__(cls, value):
        return isinstance(value, cls.real)

    def __subclasscheck__(cls, other):
        return issubclass(other, cls.real)


def fake_time(offset_s):
    """Replace what asks the clock in `time`; return the real function of seconds."""
    real, local, utc, text, form = time.time, time.localtime, time.gmtime, time.ctime, time.strftime

    def now():
        return real() + offset_s

    time.time = now
    if hasattr(time, "time_ns"):
        real_ns = time.time_ns
        time.time_ns = lambda: real_ns() + offset_s * 10**9
    time.localtime = lambda seconds=None: local(now() if seconds is None else seconds)
    time.gmtime = lambda seconds=None: utc(now() if seconds is None else seconds)
    time.ctime = lambda seconds=None: text(now() if seconds is None else seconds)
    time.strftime = lambda pattern, moment=None: form(pattern, local(now()) if moment is None else moment)
    return now


def fake_dates(now):
    """Replace the classes in `datetime` by children that ask another clock."""
    real_date, real_datetime = datetime.date, datetime.datetime

    class date(real_date, metaclass=DateKind):  # noqa: N801
        real = real_date

        @classmethod
        def today(cls):
            return cls.fromtimestamp(now())

    class datetime_(real_datetime, metaclass=DateKind):  # noqa: N801
        real = real_datetime

        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(now(), tz)

        @classmethod
        def utcnow(cls):
            return cls.utcfromtimestamp(now())

        @classmethod
        def today(cls):
            return cls.fromtimestamp(now())

    datetime_.__name__ = datetime_.__qualname__ = "datetime"
    date.__qualname__ = "date"
    for kind in (date, datetime_):
        kind.__module__ = "datetime"
        setattr(datetime, kind.__name__, kind)
        copyreg.pickle(kind.real, lambda value, kind=kind: (kind, value.__reduce__()[1]))


def sleeping(_settings, adapter):
    """Return an adapter for runs under libfaketime: its 0.9.10 refuses how Python 3.11 and later sleep."""

    def sleep(seconds):
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        select.select([], [], [], seconds)

    def run_sleeping(session, files):
        time.sleep = sleep
        return adapter(session, files)

    return run_sleeping


def dated(settings, adapter):
    """Return an adapter that runs `settings["offset_s"]` seconds from now."""

    def run_dated(session, files):
        fake_dates(fake_time(settings["offset_s"]))
        return adapter(session, files)

    return run_dated
