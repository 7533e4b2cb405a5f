"""What `deniable demo --csv` makes of a CSV file."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator.operations.demo.own_table import MAX_CHOICES, read_study
from deniable_aggregator.operations.demo.questions import LIVE_PEOPLE
from deniable_aggregator.operations.demo.study import PAST_DAYS, Question, Study, StudyError


def study(
    folder: Path, text: str, *columns: str, name: str = "people.csv", people: int | None = None
) -> Study:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_study(path, columns, "1", people=people)[0]


def whole_past(question: Question) -> dict[str, int]:
    """How many people had each answer, all days together."""
    totals = (sum(day[place] for day in question.past) for place in range(len(question.answers)))
    return dict(zip(map(str, question.answers), totals, strict=True))


def labels(question: Question) -> object:
    return question.domain["labels"]


def test_several_columns_of_0_and_1_are_the_bits_of_one_collection(tmp_path: Path) -> None:
    (question,) = study(tmp_path, "dark,beta,plan\n1,0,a\n0,0,b\n", "dark", "beta").questions
    assert (question.name, question.domain["type"]) == ("simulated-people", "bits")
    assert labels(question) == ["dark", "beta"]
    assert question.answers == ({"dark": False, "beta": False}, {"dark": True, "beta": False})


def test_one_column_of_0_and_1_is_one_bit_named_like_the_column(tmp_path: Path) -> None:
    (question,) = study(tmp_path, "dark\n1\n0\n", "dark").questions
    assert (question.name, labels(question)) == ("simulated-dark", ["dark"])


def test_true_and_yes_count_as_1_whatever_their_case(tmp_path: Path) -> None:
    (question,) = study(tmp_path, "dark,beta\nTrue,yes\nFALSE,No\n", "dark", "beta").questions
    assert question.answers[-1] == {"dark": True, "beta": True}


def test_any_other_column_is_a_choice_among_its_values_in_natural_order(tmp_path: Path) -> None:
    (question,) = study(tmp_path, "Plan size\n10\n9\nfree\n9\n", "Plan size").questions
    assert (question.name, question.domain["type"]) == ("simulated-plan-size", "choice")
    assert labels(question) == question.answers == ("9", "10", "free")
    assert "Plan size" in question.purpose


def test_all_bits_are_one_collection_and_each_choice_is_its_own(
    tmp_path: Path,
) -> None:
    read = study(tmp_path, "a,b,c,d\n1,x,0,p\n0,y,1,q\n", "a", "b", "c", "d")
    assert [question.domain["type"] for question in read.questions] == ["bits", "choice", "choice"]
    assert [question.release for question in read.questions] == ["histogram", "", ""]


def test_two_columns_whose_names_look_alike_get_names_of_their_own(tmp_path: Path) -> None:
    read = study(tmp_path, "My plan,my-plan\na,c\nb,d\n", "My plan", "my-plan")
    names = [question.name for question in read.questions]
    assert names == ["simulated-my-plan", "simulated-my-plan-2"]


def test_every_row_answers_once_on_some_day(tmp_path: Path) -> None:
    rows = "a\n" * 45 + "b\n" * 15
    (question,) = study(tmp_path, f"plan\n{rows}", "plan").questions
    assert len(question.past) == PAST_DAYS
    assert {sum(day) for day in question.past} == {2}
    assert whole_past(question) == {"a": 45, "b": 15}


def test_as_many_people_as_asked_are_drawn_from_the_rows(tmp_path: Path) -> None:
    (question,) = study(tmp_path, "plan\na\nb\n", "plan", people=600).questions
    assert whole_past(question) == {"a": 300, "b": 300}


def test_the_answers_of_one_row_stay_together_today(tmp_path: Path) -> None:
    read = study(tmp_path, "a,b\nx,1\ny,2\nz,3\n", "a", "b")
    assert len(read.people) == LIVE_PEOPLE
    assert set(map(str, read.answers())) == {
        str({"simulated-a": one, "simulated-b": other})
        for one, other in (("x", "1"), ("y", "2"), ("z", "3"))
    }


def test_a_long_list_of_columns_fits_into_the_purpose(tmp_path: Path) -> None:
    names = [f"a rather long name of column {number}" for number in range(30)]
    rows = "\n".join(",".join("10"[row] for _ in names) for row in range(2))
    (question,) = study(tmp_path, f"{','.join(names)}\n{rows}\n").questions
    assert len(question.purpose) <= 200
    assert question.purpose.endswith("…?")


@pytest.mark.parametrize("text", ["a;b\nx;1\ny;0\n", "a\tb\nx\t1\ny\t0\n", "\ufeffa,b\nx,1\ny,0\n"])
def test_semicolons_tabs_and_a_byte_order_mark_are_read(tmp_path: Path, text: str) -> None:
    assert study(tmp_path, text, "a").questions[0].answers == ("x", "y")


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
    (question,) = study(tmp_path, "plan\na\n\nb\n\n", "plan").questions
    assert whole_past(question) == {"a": 1, "b": 1}


def test_identifiers_are_refused_with_their_number(tmp_path: Path) -> None:
    rows = "\n".join(f"user-{number}" for number in range(MAX_CHOICES + 1))
    with pytest.raises(StudyError, match=r"'id' has 1,001 different values.*identifier"):
        study(tmp_path, f"id\n{rows}\n", "id")


def test_as_many_values_as_can_be_told_apart_are_taken(tmp_path: Path) -> None:
    rows = "\n".join(f"v{number}" for number in range(MAX_CHOICES))
    assert len(study(tmp_path, f"v\n{rows}\n", "v").questions[0].answers) == MAX_CHOICES


def test_a_column_with_one_value_leaves_nothing_to_estimate(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="has 'a' in every row"):
        study(tmp_path, "plan\na\na\n", "plan")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("plan\n", "no rows"), ("", "no column"), ("plan,plan\na,b\n", "2 columns named 'plan'")],
)
def test_a_file_without_data_says_what_is_missing(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(StudyError, match=reason):
        study(tmp_path, text, "plan")


def test_a_column_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="name each column once"):
        study(tmp_path, "plan\na\nb\n", "plan", "plan")


def test_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"plan\n\xff\xfe\n")
    with pytest.raises(StudyError, match="not UTF-8"):
        read_study(path, ["plan"], "1")


def test_a_file_name_without_letters_still_gives_a_name(tmp_path: Path) -> None:
    read = study(tmp_path, "a,b\n1,0\n0,1\n", "a", "b", name="数据.csv")
    assert read.questions[0].name == "simulated-answers"


def test_without_columns_every_one_is_asked_about_that_can_be(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("name,plan,beta,why\na,x,1,\nb,y,0,z\na,x,1,z\n", encoding="utf-8")
    read, left_out = read_study(path, [], "1")
    names = [question.name for question in read.questions]
    assert names == ["simulated-beta", "simulated-name", "simulated-plan"]
    assert left_out == ["column 'why' is empty in line 2: fill it in or leave the row out"]


def test_a_table_about_which_nothing_can_be_asked_says_why(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a,b\nx,y\nx,y\n", encoding="utf-8")
    with pytest.raises(StudyError, match="'a' has 'x' in every row"):
        read_study(path, [], "1")
