"""Tables in every dialect of text and every format: what was written is what is read."""

import bz2
import datetime
import gzip
import io
import json
import lzma
import pathlib
import tempfile
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mapdp.cli import files, formats
from mapdp.cli.cells import number_of
from mapdp.cli.files import Asked, TroubleError

WORDS = ["Köln", "Rome; Lazio", "Oslo, N", 'the "Hague"', "a\tb", "x | y", "plain", "two\nlines"]
MARKS = {".": ",", ",": "."}  # what parts thousands where this is the decimal mark


class Written(NamedTuple):
    """A dialect in which a table is written."""

    separator: str
    decimal: str
    encoding: str
    has_header: bool
    has_comments: bool
    quotes_all: bool
    has_thousands: bool
    digits: int
    currency: str
    date: str
    newline: str
    pack: str


DIALECTS = st.builds(
    Written,
    separator=st.sampled_from(",;\t|"),
    decimal=st.sampled_from(".,"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]),
    has_header=st.booleans(),
    has_comments=st.booleans(),
    quotes_all=st.booleans(),
    has_thousands=st.booleans(),
    digits=st.sampled_from([1, 2, 4, 6]),
    currency=st.sampled_from(["", "$", "€ ", " %"]),
    date=st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%d-%m-%Y", "%d.%m.%Y %H:%M"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    pack=st.sampled_from(["", "gz", "bz2", "xz"]),
)
PACKERS = {"": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def random_table(seed, digits):
    """Return columns of reals, whole numbers, words and dates, with gaps in the first three."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    day = datetime.datetime(2020, 1, 1)
    table = {
        "price": (rng.normal(size=n) * 10.0 ** rng.integers(0, 7)).round(digits).tolist(),
        "number": rng.integers(-5000, 5_000_000, n).tolist(),
        "city": [WORDS[k] for k in rng.integers(0, int(rng.integers(2, len(WORDS) + 1)), n)],
        "when": [day + datetime.timedelta(minutes=int(m)) for m in rng.integers(0, 10**6, n)],
    }
    for name in ("price", "number", "city"):
        table[name] = [
            None if gap else cell for gap, cell in zip(rng.random(n) < 0.1, table[name], strict=True)
        ]
    return table


def as_text(cell, name, how):
    if cell is None:
        return ""
    if name == "when":
        return cell.strftime(how.date)
    if name == "city":
        return cell
    text = f"{abs(cell):{',' if how.has_thousands else ''}{f'.{how.digits}f' if name == 'price' else ''}}"
    text = text.translate(str.maketrans({".": how.decimal, ",": MARKS[how.decimal]}))
    if name == "price":
        before = how.currency.strip() if how.currency in ("$", "€ ") else ""
        text = before + text + (" %" if how.currency == " %" else "")
    return f"-{text}" if cell < 0 else text


def quoted(text, how):
    needs = any(mark in text for mark in (how.separator, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if needs or how.quotes_all else text


def written(table, how):
    """Return a file; written plainly, to be an oracle."""
    rows = [list(table)] if how.has_header else []
    rows += [[as_text(table[name][i], name, how) for name in table] for i in range(len(table["city"]))]
    lines = [how.separator.join(quoted(cell, how) for cell in row) for row in rows]
    if how.has_comments:
        lines = ["# from the lab, with love", *lines[:3], "# a remark; odd | here", *lines[3:]]
    return PACKERS[how.pack]((how.newline.join(lines) + how.newline).encode(how.encoding))


def read_back(content, asked=None):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "table.csv"
        path.write_bytes(content)
        return files.read(str(path), asked)


def expected_dates(table, how):
    kept = [datetime.datetime.strptime(day.strftime(how.date), how.date) for day in table["when"]]
    return kept if "%H" in how.date else [day.date() for day in kept]


def check_same(table, how, found):
    names = ["price", "number", "city", "when"] if how.has_header else [f"column_{j}" for j in (1, 2, 3, 4)]
    assert found.column_names == names
    columns = [column.to_pylist() for column in found.columns]
    for name, column in zip(("price", "number"), columns, strict=False):
        assert column == table[name]
    assert columns[2] == table["city"]
    assert columns[3] == expected_dates(table, how)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(how=DIALECTS, seed=st.integers(0, 2**32))
def test_a_table_in_any_dialect_is_read_as_it_was_written(how, seed):
    table = random_table(seed, how.digits)
    found, notes = read_back(written(table, how))
    check_same(table, how, found)
    assert len(notes) == 1
    assert ("no header" in notes[0]) != how.has_header
    assert f"decimal {'comma' if how.decimal == ',' else 'point'}" in notes[0]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(how=DIALECTS, seed=st.integers(0, 2**32))
def test_what_users_say_is_not_sniffed(how, seed):
    """Three decimals and no other evidence: 1,234 may be either, but not once the user has said so."""
    how = how._replace(digits=3, has_thousands=False, has_comments=False)
    table = random_table(seed, how.digits)
    names = {"utf-8-sig": "utf8"}
    asked = Asked(
        how.separator, how.decimal, names.get(how.encoding, how.encoding), has_header=how.has_header
    )
    check_same(table, how, read_back(written(table, how), asked)[0])


TABLE = pa.table(
    {"a": [1, 2, None], "b": ["x", None, "z"], "when": [datetime.date(2021, 3, day) for day in (1, 2, 3)]}
)


def arrow_stream(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def packed(write):
    sink = io.BytesIO()
    write(TABLE, sink)
    return sink.getvalue()


BINARY = {
    "parquet": packed(parquet.write_table),
    "feather": packed(feather.write_feather),
    "stream": arrow_stream(TABLE),
    "parquet in gzip": gzip.compress(packed(parquet.write_table)),
}


@pytest.mark.parametrize("name", BINARY)
def test_formats_are_known_by_their_bytes(name):
    assert read_back(BINARY[name])[0].to_pylist() == TABLE.to_pylist()  # although the file is called .csv


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": {"c": "x"}}\n{"a": 2.5, "b": {"c": "y"}}\n',
        '[{"a": 1, "b.c": "x"}, {"a": 2.5, "b.c": "y"}]',
        '{"a": [1, 2.5],\n "b.c": ["x", "y"]}',
    ],
)
def test_json_is_a_table(text):
    assert read_back(text.encode())[0].to_pylist() == [{"a": 1.0, "b.c": "x"}, {"a": 2.5, "b.c": "y"}]


def test_lists_in_json_are_left_out_with_a_note():
    table, notes = read_back(b'{"a": 1, "tags": ["x"]}\n{"a": 2, "tags": []}\n')
    assert table.column_names == ["a"]
    assert "tags" in notes[0]


REFUSED = {
    "an Excel workbook": b"PK\x03\x04" + b"\x00" * 40 + b"xl/workbook.xml",
    "a zip archive": b"PK\x03\x04" + b"\x00" * 40 + b"table.csv",
    "an old Excel workbook": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "an HDF5 file": b"\x89HDF\r\n\x1a\n",
    "a NumPy array": b"\x93NUMPY\x01\x00",
    "an R data file": gzip.compress(b"RDX3\nX\n"),
    "a web page": b"\n<!DOCTYPE html><html>",
    "not text": bytes(range(256)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_formats_that_are_not_read_are_refused_by_name(what):
    with pytest.raises(TroubleError, match=f"is {what}.* Hint: "):
        read_back(REFUSED[what])


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1234.5", ".", 1234.5), ("1,234.5", ".", 1234.5), ("1 234,5", ",", 1234.5), ("1'234", ".", 1234.0),
        ("$-3", ".", -3.0), ("\u22123 €", ".", -3.0),
        ("(3.50)", ".", -3.5), (".5", ".", 0.5), ("5.", ".", 5.0),
        ("1e-3", ".", 0.001), ("12 %", ".", 12.0), ("CHF 12", ".", 12.0), ("1.234.567", ",", 1234567.0),
        ("1,23", ".", None), ("12,3456.7", ".", None), ("", ".", None), ("$", ".", None), ("(5", ".", None),
        ("5 kg", ".", None), ("12.10.2021", ".", None), ("٣", ".", None), ("--5", ".", 5.0),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(text, decimal, number):
    found = number_of(text, decimal)
    assert (found and found[0]) == number


def test_a_column_of_two_currencies_stays_words():
    rows = "".join(f"{'$' if i % 2 else '€'}{i}\n" for i in range(20))
    assert pa.types.is_string(read_back(("price\n" + rows).encode())[0].schema.types[0])


def test_a_slip_among_numbers_with_symbols_is_named():
    rows = "".join(f"${i}.50\n" for i in range(20)) + "oops\n"
    with pytest.raises(
        TroubleError, match=r"got 'oops' in row 20. Hint: --missing oops .*--columns price=category"
    ):
        read_back(("price\n" + rows).encode())
    kept = read_back(("price\n" + rows).encode(), Asked(kept=frozenset({"price"})))[0]
    assert kept.column("price").to_pylist()[-1] == "oops"


def test_days_before_months_where_a_value_says_so():
    march = ["3/13/2021", "3/4/2021"]
    for rows, order in ((march, "month/day/year"), (["13/3/2021", "4/3/2021"], "day/month/year")):
        table, notes = read_back("\n".join(["when", *rows]).encode())
        assert table.column(0).to_pylist() == [datetime.date(2021, 3, 13), datetime.date(2021, 3, 4)]
        assert order in notes[0]
        assert "no value says" not in notes[0]
    assert "no value says which" in read_back(b"when\n3/4/2021\n4/5/2021\n")[1][0]


def test_words_for_missing_cells_are_gaps_in_every_format(tmp_path):
    rows = [{"x": 1.5, "w": "a"}, {"x": -999.0, "w": "unknown"}, {"x": 2.5, "w": "b"}]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "t.csv").write_text("x,w\n1.5,a\n-999,unknown\n2.5,b\n")
    for path in tmp_path.iterdir():
        table, _ = files.read(str(path), Asked(missing=("-999", "unknown")))
        assert table.to_pylist() == [rows[0], {"x": None, "w": None}, rows[2]], path


HEADERS = {
    "years": ("c,2001,2002,2003\na,1,2,3\nb,4,5,6\n", True),
    "index": (",a\n0,1.5\n1,2.5\n", True),
    "places of columns": ("0,1\n1.5,2.5\n0.5,0.1\n", True),
    "levels": ("p,x\ne,y\np,y\ne,x\np,x\n", False),
    "names of levels": ("class,cap\ne,y\np,y\ne,x\np,x\n", True),
    "numbers": ("5.1,3.5,a\n4.9,3.0,b\n4.7,3.2,c\n", False),
    "dates": ("2021-01-01,x\n2021-01-02,y\n", False),
    "words only": ("name,town\nAda,Rome\nBob,Oslo\n", True),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_is_told_from_data(name):
    text, has_header = HEADERS[name]
    table = read_back(text.encode())[0]
    assert table.num_rows == len(text.splitlines()) - has_header


def test_a_comment_may_name_the_columns_and_blanks_may_part_them():
    table = read_back(b"# made on a Monday\n# x y\n1.5   2\n 2.5 3\n")[0]
    assert table.to_pylist() == [{"x": 1.5, "y": 2}, {"x": 2.5, "y": 3}]


def test_text_that_turns_out_foreign_late_is_read_again():
    rows = "".join(f"plain,{i}\n" for i in range(20_000)) + "“Köln”,1\n"
    table, notes = read_back(("name,x\n" + rows).encode("cp1252"))
    assert table.column("name").to_pylist()[-1] == "“Köln”"
    assert "cp1252" in notes[0]
    assert "latin-1" in read_back("name,x\nK\x81ln,1\nK\x81ln,2\n".encode("latin-1"))[1][0]


def test_true_and_false_stay_as_they_are_written():
    assert read_back(b"ok,x\nTRUE,1\nFalse,2\n")[0].column("ok").to_pylist() == ["TRUE", "False"]


def test_large_whole_numbers_are_exact():
    large = [2**60 + i for i in range(3)]
    text = "id,x\n" + "".join(f"{one},{j}.5\n" for j, one in enumerate(large))
    assert read_back(text.encode())[0].column("id").to_pylist() == large


def test_a_pipe_is_read_once(tmp_path, monkeypatch):
    class Pipe:
        buffer = io.BytesIO(gzip.compress(b"a,b\n1.5,x\n2.5,y\n"))

    formats._piped.cache_clear()
    monkeypatch.setattr(formats.sys, "stdin", Pipe)
    assert files.read("-")[0].to_pylist() == [{"a": 1.5, "b": "x"}, {"a": 2.5, "b": "y"}]
    formats._piped.cache_clear()
