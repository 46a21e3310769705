"""The rules of other agents on the same labelled turns: none finds as much, none is more often right."""

from __future__ import annotations

import pytest
from peer_rules import PEERS, PeerCall
from recorded_turns import NO_CORPUS, labels, log_of, records_of, turns_of
from sessions import shell

from tokeneconomizer.hosts.records import LoggedPrompt, LoggedStep, LoggedStop
from tokeneconomizer.scheduler.replay import ReplayedRedirect, ReplayedTurn
from tokeneconomizer.scheduler.scoring import Label, Score, score, scored

LABELS = labels()
ALWAYS_RIGHT = 1.0


def turns_by(peer: str, label: Label) -> list[ReplayedTurn]:
    """The turns of a log with what the peer's rule says in them."""
    turns = [ReplayedTurn(1, 1, 1)]
    calls: list[PeerCall] = []
    for record in records_of(log_of(label), label.host):
        match record:
            case LoggedPrompt() | LoggedStop():
                turns.append(ReplayedTurn(len(turns) + 1, record.line, record.line))
                calls = []
            case LoggedStep():
                for call, line in zip(record.calls, record.lines, strict=True):
                    calls.append(PeerCall.of(call))
                    if PEERS[peer](calls):
                        turns[-1].redirects.append(ReplayedRedirect(len(calls), line, peer, "", ""))
    return turns


def score_of(peer: str) -> Score:
    return score([scored(label, turns_by(peer, label)) for label in LABELS])


@pytest.mark.skipif(not LABELS, reason=NO_CORPUS)
@pytest.mark.parametrize("peer", PEERS)
def test_ours_is_right_as_often_and_finds_more(peer: str) -> None:
    ours = score([scored(label, turns_of(log_of(label), label.host)) for label in LABELS])
    theirs = score_of(peer)

    assert ours.precision is not None
    assert ours.recall is not None
    assert ours.precision >= (theirs.precision or 0)
    assert ours.recall > (theirs.recall or 0)


FAILING = PeerCall.of(shell("make", "error", failed=True))
FINE = PeerCall.of(shell("make", "done"))
OTHER = PeerCall.of(shell("ls", "a"))


@pytest.mark.parametrize(
    ("peer", "calls", "fires"),
    [
        ("OpenHands", [FAILING] * 3, True),
        ("OpenHands", [FINE] * 3, False),
        ("OpenHands", [FINE] * 4, True),
        ("OpenHands", [FINE, OTHER] * 3, True),
        ("OpenHands", [FINE, OTHER] * 2, False),
        ("Gemini CLI", [FINE] * 4, False),
        ("Gemini CLI", [FINE] * 5, True),
        ("Gemini CLI", [FINE, OTHER] * 3, True),
        ("Cline", [FINE] * 3, True),
        ("Roo", [FINE, FINE, OTHER, FINE], False),
        ("opencode", [FINE] * 3, True),
    ],
)
def test_the_peers_rules_are_those_that_they_publish(
    peer: str, calls: list[PeerCall], *, fires: bool
) -> None:
    assert PEERS[peer](calls) is fires
