"""Tests of the number of digits that a phone number has."""

import pytest

from assistant.end_of_turn.dictation.phone_numbers import phone_completeness, plan_of


@pytest.mark.parametrize(
    ("region", "digits", "expected"),
    [
        ("US", "555121234", "incomplete"),
        ("US", "5551212345", "complete"),
        ("US", "15551212345", "complete"),
        ("US", "1314559375", "unknown"),
        ("US", "555121234512", "unknown"),
        ("GB", "0791112345", "unknown"),
        ("GB", "07911123456", "complete"),
        ("GB", "07911", "incomplete"),
        ("DE", "0301234", "incomplete"),
        ("DE", "0301234567", "unknown"),
        ("DE", "017212345678", "complete"),
        ("FR", "061234567", "incomplete"),
        ("FR", "0612345678", "complete"),
        ("FR", "612345678", "unknown"),
        ("ES", "61234567", "incomplete"),
        ("ES", "612345678", "complete"),
        ("ZZ", "123456", "incomplete"),
        ("ZZ", "12345678", "incomplete"),
        ("ZZ", "1234567890", "unknown"),
    ],
)
def test_region_decides_whether_number_is_complete(region: str, digits: str, expected: str) -> None:
    assert phone_completeness(digits, plan_of(region)) == expected


@pytest.mark.parametrize(
    ("region", "digits", "expected"),
    [
        ("US", "15551212345", "complete"),
        ("FR", "33612345678", "complete"),
        ("FR", "3361234567", "incomplete"),
        ("US", "49301234567", "unknown"),
    ],
)
def test_country_code_replaces_trunk_digit(region: str, digits: str, expected: str) -> None:
    assert phone_completeness(digits, plan_of(region), international=True) == expected


def test_two_zeros_begin_a_country_code() -> None:
    assert phone_completeness("0033612345678", plan_of("FR")) == "complete"
