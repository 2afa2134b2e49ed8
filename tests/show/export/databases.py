"""Databases to run exported SQL in: SQLite, DuckDB, and a PostgreSQL server of our own.

A database is a function of a query and a frame, which it stores as a table first; it
returns the names of the columns and the rows as plain Python values, None for NULL.
"""

import csv
import io
import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

NULL = "\\N"


class Day(str):
    """A date as text, for a column of dates."""


def quoted(name):
    """A quoted identifier."""
    return '"' + str(name).replace('"', '""') + '"'


def column_type(values, text):
    """SQL type of plain values."""
    kinds = {type(value) for value in values if value is not None}
    names = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE PRECISION", Day: "DATE"}
    return next((names[kind] for kind in names if kind in kinds), text)


def plain(frame):
    """Columns of a frame as lists of plain values, None for what is missing."""
    columns = {}
    for name in frame:
        values = frame[name].astype(object).to_list()
        columns[name] = [None if pd.isna(value) else _plain(value) for value in values]
    return columns


def _plain(value):
    return Day(value.date().isoformat()) if isinstance(value, pd.Timestamp) else value


def create_table(columns, table, text="TEXT"):
    """Statement that creates the table for some columns."""
    items = [f"{quoted(n)} {column_type(v, text)}" for n, v in columns.items()]
    return f"CREATE TABLE {quoted(table)} ({', '.join(items)})"


def _run_in(connection, query, frame, table):
    columns = plain(frame)
    marks = f"({', '.join('?' * len(columns))})"
    cursor = connection.cursor()
    cursor.execute(create_table(columns, table))
    rows = list(zip(*columns.values(), strict=True))
    # Many rows in one statement: DuckDB takes a while for each.
    for start in range(0, len(rows), 100):
        some = rows[start : start + 100]
        insert = f"INSERT INTO {quoted(table)} VALUES {', '.join([marks] * len(some))}"
        cursor.execute(insert, [value for row in some for value in row])
    cursor.execute(query)
    return [item[0] for item in cursor.description], [
        list(r) for r in cursor.fetchall()
    ]


def run_in_sqlite(query, frame, table="data"):
    """Run a query in a new SQLite database."""
    with sqlite3.connect(":memory:") as connection:
        found = _run_in(connection, query, frame, table)
    connection.close()
    return found


def run_in_duckdb(query, frame, table="data"):
    """Run a query in a new DuckDB database."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        return _run_in(connection, query, frame, table)


class PostgreSQL:
    """A server that listens on a socket in its own folder."""

    def __init__(self, programs, folder, user):
        self.programs, self.folder = programs, folder
        self.psql = str(programs / "psql") if (programs / "psql").exists() else "psql"
        self._as_user = ["setpriv", f"--reuid={user}", "--clear-groups"] if user else []

    def control(self, program, *options):
        """Run a server program as the user that owns the folder."""
        command = [*self._as_user, str(self.programs / program), *options]
        # A server that inherits our pipes would keep them open.
        with (self.folder / "log").open("ab") as log:
            subprocess.run(
                command, stdout=log, stderr=log, check=True, cwd=self.folder, timeout=60
            )

    def __call__(self, query, frame, table="data"):
        """Run a query in a new schema of the server."""
        columns = plain(frame)
        lines = io.StringIO(newline="")
        for row in zip(*columns.values(), strict=True):
            csv.writer(lines, lineterminator="\n").writerow(
                [NULL if value is None else _csv_value(value) for value in row]
            )
        script = [
            "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public;",
            f"{create_table(columns, table)};",
            f"COPY {quoted(table)} FROM STDIN (FORMAT csv, NULL '{NULL}');",
            f"{lines.getvalue()}\\.",
            query,
            ";",
        ]
        options = ["--no-psqlrc", "--quiet", "--csv", f"--pset=null={NULL}"]
        options += ["--set=ON_ERROR_STOP=1", "-h", str(self.folder), "-U", "sorct"]
        done = subprocess.run(
            [self.psql, *options, "-f", "-", "postgres"],
            input="\n".join(script).encode(),
            capture_output=True,
            env={**os.environ, "PGOPTIONS": "-c client_min_messages=warning"},
            timeout=60,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode())
        names, *rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
        return names, [[None if v == NULL else v for v in row] for row in rows]


def _csv_value(value):
    return repr(value) if isinstance(value, float) else value


def _server_programs():
    """Folder of initdb and pg_ctl, or None."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if (f / "pg_ctl").exists()), None)


def _unprivileged_user():
    """User to run the server as: the server refuses root."""
    import pwd

    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


@contextmanager
def postgresql():
    """Start a PostgreSQL server, and stop it at the end; skip where that cannot be."""
    programs, user = _server_programs(), None
    if programs is None or not (shutil.which("psql") or (programs / "psql").exists()):
        pytest.skip("the programs of a PostgreSQL server are not installed")
    if os.geteuid() == 0:
        user = _unprivileged_user()
        if user is None or shutil.which("setpriv") is None:
            pytest.skip("PostgreSQL refuses root, and there is no other user to run it")
    folder = Path(tempfile.mkdtemp(prefix="sorct-pg-"))
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        server = PostgreSQL(programs, folder, user and user.pw_uid)
        data = str(folder / "data")
        options = f"-F -c listen_addresses='' -k {folder}"
        try:
            server.control(
                "initdb", "-D", data, "-U", "sorct", "-A", "trust", "-E", "UTF8",
                "--locale=C", "--no-sync",
            )  # fmt: skip
            server.control("pg_ctl", "-D", data, "-w", "-o", options, "start")
        except (subprocess.SubprocessError, OSError) as error:
            log = (folder / "log").read_text("utf-8", "replace")
            pytest.skip(f"the PostgreSQL server does not start: {error}\n{log}")
        try:
            yield server
        finally:
            server.control("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
