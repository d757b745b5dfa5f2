"""`kvdyno claims` as it is typed: pages, claims.json and exit statuses."""

from __future__ import annotations

import json

import pytest

from kvdyno.cli.claims import status_of
from kvdyno.model.results import ClaimVerdict
from kvdyno.model.schema import validate

from .conftest import Checkout


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        (["supported", "supported"], 0),
        (["supported", "contradicted", "undecided"], 9),
        (["supported", "undecided"], 10),
        (["supported", "not measured"], 10),
    ],
)
def test_the_exit_status_is_that_of_the_verdicts(verdicts: list[ClaimVerdict], status: int) -> None:
    assert status_of(verdicts) == status


def test_a_page_and_a_document_have_the_verdicts(measured: Checkout) -> None:
    answer = measured.kvdyno("claims", "tiny", "--uncapped")
    assert answer.status == 10, "records without a cap leave a claim in doubt"
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "undecided" in answer.out
    assert "would settle it: " in answer.out
    (document,) = measured.kvdyno("claims", "tiny", "--uncapped", "--json").json
    validate(document, schema="claims", where="claims.json")
    assert [claim["verdict"] for claim in document["claims"]] == ["undecided"]
    assert document["claims"][0]["settle"]
    written = measured.root / "results" / "reports" / "tiny-quick-uncapped" / "claims.json"
    assert json.loads(written.read_text()) == document


def test_experiments_that_were_measured_are_found(measured: Checkout) -> None:
    answer = measured.kvdyno("claims", "--uncapped")
    assert answer.status == 10, answer.err
    assert "tiny, profile quick: 1 claim" in answer.out


def test_nothing_measured_is_an_error(checkout: Checkout) -> None:
    answer = checkout.kvdyno("claims")
    assert answer.status == 7
    assert "no experiment with claims has records at profile 'quick'" in answer.err
    assert checkout.kvdyno("claims", "tinny").status == 2
