"""What `deniable demo --csv` makes of a CSV file."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator.operations.demo.study import Study, StudyError
from deniable_aggregator.operations.demo.study_csv import MAX_CHOICES, read_study


def study(folder: Path, text: str, *columns: str, name: str = "people.csv") -> Study:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_study(path, columns, "1")[0]


def test_several_columns_of_0_and_1_are_the_bits_of_one_collection(tmp_path: Path) -> None:
    found = study(tmp_path, "dark,beta,plan\n1,0,a\n0,0,b\n", "dark", "beta")
    (question,) = found.collections
    assert (question.name, question.type, question.labels) == ("people", "bits", ("dark", "beta"))
    assert found.people == (
        {"people": {"dark": True, "beta": False}},
        {"people": {"dark": False, "beta": False}},
    )


def test_one_column_of_0_and_1_is_one_bit_named_like_the_column(tmp_path: Path) -> None:
    found = study(tmp_path, "dark\n1\n0\n", "dark")
    assert (found.collections[0].name, found.collections[0].labels) == ("dark", ("dark",))


def test_true_and_yes_count_as_1_whatever_their_case(tmp_path: Path) -> None:
    found = study(tmp_path, "dark,beta\nTrue,yes\nFALSE,No\n", "dark", "beta")
    assert found.people[0] == {"people": {"dark": True, "beta": True}}


def test_any_other_column_is_a_choice_among_its_values_in_natural_order(tmp_path: Path) -> None:
    found = study(tmp_path, "Plan size\n10\n9\nfree\n9\n", "Plan size")
    (question,) = found.collections
    assert (question.name, question.type) == ("plan-size", "choice")
    assert question.labels == ("9", "10", "free")


def test_bits_and_choices_together_are_a_collection_for_the_bits_and_one_a_choice(
    tmp_path: Path,
) -> None:
    found = study(tmp_path, "a,b,c,d\n1,x,0,p\n0,y,1,q\n", "a", "b", "c", "d")
    assert [question.type for question in found.collections] == ["bits", "choice", "choice"]
    assert found.people[0] == {"people": {"a": True, "c": False}, "b": "x", "d": "p"}


def test_two_columns_whose_names_look_alike_get_names_of_their_own(tmp_path: Path) -> None:
    found = study(tmp_path, "My plan,my-plan\na,c\nb,d\n", "My plan", "my-plan")
    assert [question.name for question in found.collections] == ["my-plan", "my-plan-2"]


@pytest.mark.parametrize("text", ["a;b\nx;1\ny;0\n", "a\tb\nx\t1\ny\t0\n", "\ufeffa,b\nx,1\ny,0\n"])
def test_semicolons_tabs_and_a_byte_order_mark_are_read(tmp_path: Path, text: str) -> None:
    assert study(tmp_path, text, "a").people == ({"a": "x"}, {"a": "y"})


def test_a_missing_column_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no column 'plann': did you mean 'plan'"):
        study(tmp_path, "plan,age\na,1\n", "plann")


def test_a_column_like_no_other_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no column 'zzz': it has plan, age"):
        study(tmp_path, "plan,age\na,1\n", "zzz")


@pytest.mark.parametrize("row", ["a,", "a", "a,  "])
def test_an_empty_cell_names_its_line(tmp_path: Path, row: str) -> None:
    with pytest.raises(StudyError, match="column 'age' is empty in line 3"):
        study(tmp_path, f"plan,age\na,1\n{row}\n", "age")


def test_empty_lines_are_passed_over(tmp_path: Path) -> None:
    assert len(study(tmp_path, "plan\na\n\nb\n\n", "plan").people) == 2


def test_identifiers_are_refused_with_their_number(tmp_path: Path) -> None:
    rows = "\n".join(f"user-{number}" for number in range(MAX_CHOICES + 1))
    with pytest.raises(StudyError, match=r"'id' holds 1,001 different values.*identifier"):
        study(tmp_path, f"id\n{rows}\n", "id")


def test_as_many_values_as_can_be_told_apart_are_taken(tmp_path: Path) -> None:
    rows = "\n".join(f"v{number}" for number in range(MAX_CHOICES))
    assert len(study(tmp_path, f"v\n{rows}\n", "v").collections[0].labels) == MAX_CHOICES


def test_a_column_with_one_value_leaves_nothing_to_estimate(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="holds 'a' in every row"):
        study(tmp_path, "plan\na\na\n", "plan")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("plan\n", "no rows"), ("", "no column"), ("plan,plan\na,b\n", "2 columns named 'plan'")],
)
def test_a_file_without_data_says_what_is_missing(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        study(tmp_path, text, "plan")


def test_a_column_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="each column is named once"):
        study(tmp_path, "plan\na\nb\n", "plan", "plan")


def test_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"plan\n\xff\xfe\n")
    with pytest.raises(StudyError, match="not UTF-8"):
        read_study(path, ["plan"], "1")


def test_a_file_name_without_letters_still_gives_a_name(tmp_path: Path) -> None:
    found = study(tmp_path, "a,b\n1,0\n0,1\n", "a", "b", name="数据.csv")
    assert found.collections[0].name == "answers"


def test_without_columns_every_one_is_asked_about_that_can_be(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,plan,beta,why\na,x,1,\nb,y,0,z\na,x,1,z\n", encoding="utf-8")
    found, left_out = read_study(path, [], "1")
    assert [question.name for question in found.collections] == ["beta", "name", "plan"]
    assert left_out == ["column 'why' is empty in line 2: fill it in or leave the row out"]


def test_a_table_about_which_nothing_can_be_asked_says_why(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a,b\nx,y\nx,y\n", encoding="utf-8")
    with pytest.raises(StudyError, match="'a' holds 'x' in every row"):
        read_study(path, [], "1")
