"""Text to rows: delimiters, line breaks inside fields, damaged rows."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.header import find_header
from meantime.datasets.ragged import LINE
from meantime.datasets.records import Records, line_texts, read_records
from meantime.errors import InputError


def split(text: str | bytes) -> Records:
    data = text.encode() if isinstance(text, str) else text
    return read_records(data, find_header(data), file="log")


def rows(records: Records) -> list[tuple[object, ...]]:
    return records.frame.rows()


@pytest.mark.parametrize("delimiter", ["|", "|#", ",", "\t", "^", ";", "||", ":", "~"])
def test_delimiter_is_found(delimiter: str) -> None:
    text = "\n".join(
        delimiter.join(fields) for fields in [("JobID", "State", "End"), ("1", "FAILED", "x"), ("2", "", "")]
    )
    data = text.encode()
    assert find_header(data).delimiter == delimiter
    assert rows(split(data)) == [("1", "FAILED", "x", 2), ("2", "", "", 3)]


def test_names_with_spaces_are_split_at_the_commonest_delimiter() -> None:
    assert find_header(b"Prob Started,Down Time,nodes\n").names == ("Prob Started", "Down Time", "nodes")


def test_regular_and_careful_paths_agree() -> None:
    body = "".join(f"{i}|name {i}|\u00fc{i}\n" for i in range(50))
    regular = split("a|b|c\n" + body)
    careful = split("a|b|c\n" + body + "1|2\n")
    assert careful.quarantine["line"].to_list() == [52]
    assert rows(regular) == rows(careful)


def test_row_goes_on_until_it_is_complete() -> None:
    records = split("a|b|c\n1|two\nlines|3\n4|5|6\n7|\n\nx|9\n")
    assert rows(records) == [("1", "two\nlines", "3", 2), ("4", "5", "6", 4), ("7", "\n\nx", "9", 5)]


def test_damaged_row_does_not_swallow_its_neighbour() -> None:
    records = split("a|b|c|d\n1|2|3|4\n1|2\n5|6|7|8\nstray\n9|9|9|9\n1|2|3|4|5\n")
    assert [row[-1] for row in rows(records)] == [2, 4, 6]
    assert records.quarantine["line"].to_list() == [3, 5, 7]
    assert "2 fields where the header has 4" in records.quarantine["reason"][0]
    assert "5 fields" in records.quarantine["reason"][2]


def test_repeated_header_is_folded_and_nul_set_aside() -> None:
    records = split("a|b\n1|2\na|b\n3|\x004\n5|6\n")
    assert rows(records) == [("1", "2", 2), ("5", "6", 5)]
    assert records.folded == {"repeated headers": 1}
    assert records.quarantine["reason"].to_list() == ["a NUL byte in the row"]


def test_bytes_that_are_not_utf8_are_replaced_and_counted() -> None:
    records = split(b"a|b\n1|M\xfcller\n2|ok\n")
    assert rows(records)[0][1] == "M\N{REPLACEMENT CHARACTER}ller"
    assert "1 rows held bytes that are not UTF-8" in records.notes[0]


def test_other_delimiter_below_the_header_is_refused() -> None:
    with pytest.raises(InputError, match=r"log: the header's 3 fields are separated by '\|'"):
        split("a|b|c\n1,2,3\n4,5,6\n")


def test_header_that_no_row_fits_is_refused() -> None:
    with pytest.raises(InputError, match="log: no row fits the header's 3 fields: 4 fields where"):
        split("a|b|c\n1|2|3|4\n4|5|6|7\n")


def test_name_twice_is_refused_only_over_different_values() -> None:
    assert rows(split("a|b|a\n1|2|1\n"))[0][:2] == ("1", "2")
    with pytest.raises(InputError, match="names 'a' more than once"):
        split("a|b|a\n1|2|3\n")


def test_quoted_fields_hold_delimiters_and_line_breaks() -> None:
    records = split('a,b\n"1,5","two\nlines"\n"say ""x""",3\n')
    assert rows(records) == [("1,5", "two\nlines", 2), ('say "x"', "3", 4)]


def test_open_quote_spoils_one_line() -> None:
    body = [f"{i},{i}" for i in range(3000)]
    body[1500] = '"open,1500'
    records = split("a,b\n" + "\n".join(body) + "\n")
    assert records.quarantine.select("line", "reason").rows() == [(1502, "a quote that is never closed")]
    assert records.frame.height == 2999


def test_lines_are_fetched_by_number() -> None:
    assert line_texts(b"one\r\ntwo\n\nfour", [4, 1, 3]) == ["four", "one", ""]


fields = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters='\n\r\0|,"', exclude_categories=["Cc", "Cs"]), max_size=8
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(fields, fields, fields), max_size=20), st.randoms(use_true_random=False))
def test_every_damaged_row_is_accounted_for(good: list[tuple[str, str, str]], random: object) -> None:
    """One line a row; each damaged line must be in quarantine and every other in the table."""
    good = [row for row in good if row != ("a", "b", "c")]
    lines, damaged = [], 0
    for row in good:
        kind = random.choice(["keep", "cut", "long"])  # type: ignore[attr-defined]
        fields_of = {"keep": list(row), "cut": [f"x{row[0]}"], "long": [*row, "more", "more"]}[kind]
        lines.append("|".join(fields_of))
        damaged += kind != "keep"
    text = "a|b|c\n" + "\n".join(lines) + "\n"
    try:
        records = split(text)
    except InputError:  # a file is refused as a whole only if no row of it fits the header
        assert lines
        assert not [line for line in lines if line.count("|") == 2]
        return
    kept = [line for line in lines if line.count("|") == 2]
    assert records.frame.height == len(kept)
    assert records.rows_read == records.frame.height + records.quarantine.height + sum(records.folded.values())
    assert ["|".join(map(str, row[:3])) for row in rows(records)] == kept
    assert (records.quarantine.height > 0) == (damaged > 0)


csv_fields = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cc", "Cs"]) | st.just("\n"),
    max_size=8,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(csv_fields, csv_fields), min_size=1, max_size=20))
def test_csv_written_by_the_standard_library_is_read_back(table: list[tuple[str, str]]) -> None:
    table = [row for row in table if [field.strip() for field in row] != ["a", "b"]]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([("a", "b"), *table])
    records = split(buffer.getvalue())
    assert records.frame.drop(LINE).rows() == table
