"""Dates as a reader sees them."""

import datetime

from campaign.notes.errors import UsageError

# Written out here, because strftime's names follow the locale of whoever builds.
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def long_date(day: datetime.date) -> str:
    """`7 November 2026`."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def utc_minute(moment: datetime.datetime) -> str:
    """`2026-11-06 06:11Z`, whatever the zone of `moment`; seconds are cut off."""
    return f"{with_zone(moment, 'a moment').astimezone(datetime.UTC):%Y-%m-%d %H:%M}Z"


def with_zone(moment: datetime.datetime, where: str) -> datetime.datetime:
    """`moment` itself; raises UsageError naming `where` when it has no zone."""
    if moment.utcoffset() is None:
        raise UsageError(
            f"{where}: the time {moment.isoformat()} has no zone; expected one like "
            f"{moment.isoformat(timespec='seconds')}Z. Add the zone."
        )
    return moment
