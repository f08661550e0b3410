"""The trigger of a trial on a fleet asks until the client has ended, whatever the link does."""

from __future__ import annotations

from tests.airflow.conftest import told

TRIGGER = """
import asyncio, json
from types import SimpleNamespace
from benchlab.errors import CommandTimeout, TargetError, UnreachableError
from benchlab_airflow.operators import trial_operator
from benchlab_airflow.operators.trial_operator import UNREACHABLE_LIMIT_S, ClientTrigger

class Clock:
    '''The time; every look at the client takes ten seconds.'''
    now = 1000.0
    def time(self): return self.now

clock = trial_operator.time = Clock()
trial_operator.POLL_S = 0

class Client:
    '''Answers with what it is given, an error or a state; the last one stays.'''
    def __init__(self, *answers):
        self.answers, self.asked, self.closed = list(answers), [], 0
    def job_status(self, job):
        self.asked.append(job)
        clock.now += 10
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(state=answer)
    def close(self):
        self.closed += 1

def reach(*found):
    '''Each attempt to open the client's host finds the next of these; the last one stays.'''
    left = list(found)
    def open_client(campaign):
        clock.now += 10
        one = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(one, Exception):
            raise one
        return one
    trial_operator.open_client = open_client

BEGUN = {"job": "client-t1-a1", "until": 1100.0, "trial": "t1"}

async def events():
    found = [event.payload async for event in ClientTrigger("c1", BEGUN).run()]
    assert [event.pop("begun") for event in found] == [BEGUN]
    return found

def fire():
    return asyncio.run(events())
"""


def fired(env: dict[str, str], code: str) -> list[str]:
    """What code after the trigger's preamble prints."""
    return told(TRIGGER + code, env)


def test_the_trigger_fires_when_the_client_has_ended(airflow_env: dict[str, str]) -> None:
    """Once, with the client's state, and its connection is closed."""
    for state in ("complete", "lost", "absent"):
        lines = fired(
            airflow_env,
            f"""
client = Client("running", "running", {state!r})
reach(client)
say(fire(), client.asked, client.closed)
""",
        )
        assert lines == [f"[{{'state': '{state}'}}] {['client-t1-a1'] * 3} 1"]


def test_a_link_that_is_down_for_a_while_costs_nothing(airflow_env: dict[str, str]) -> None:
    """Neither when opened nor in between, and beyond the client's time too, does it fire early."""
    lines = fired(
        airflow_env,
        """
client = Client("running", UnreachableError("link down"), CommandTimeout("client", "status", 60),
                *[UnreachableError("link down")] * 20, "complete")
reach(UnreachableError("no route"), TargetError("no fleet"), client)
say(fire(), len(client.asked), client.closed)
""",
    )
    assert lines == ["[{'state': 'complete'}] 24 1"]


def test_a_host_that_never_answers_is_not_waited_for_for_ever(
    airflow_env: dict[str, str],
) -> None:
    """It fires before Airflow would time the task out, and says why."""
    lines = fired(
        airflow_env,
        """
client = Client(UnreachableError("link down"))
reach(client)
say(json.dumps(fire()), client.closed)
say(1100 < clock.now < 1100 + UNREACHABLE_LIMIT_S)
reach(UnreachableError("no route"))
clock.now = 1000.0
say(json.dumps(fire()))
""",
    )
    assert lines == [
        '[{"state": "its host does not answer: link down"}] 1',
        "True",
        '[{"state": "its host does not answer: no route"}]',
    ]


def test_a_client_that_outstays_its_time_is_handed_to_the_task(
    airflow_env: dict[str, str],
) -> None:
    """The task ends it; the trigger fires as soon as its time is over."""
    lines = fired(
        airflow_env,
        """
client = Client("running")
reach(client)
say(fire(), clock.now - 1100 <= 10)
""",
    )
    assert lines == ["[{'state': 'running'}] True"]


def test_a_trigger_that_is_no_longer_wanted_lets_go_of_its_host(
    airflow_env: dict[str, str],
) -> None:
    """A cleared task or a triggerer that is stopped leaves no connection open."""
    lines = fired(
        airflow_env,
        """
async def cancelled():
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    client = Client("running")
    look = client.job_status
    def job_status(job):
        loop.call_soon_threadsafe(asked.set)
        clock.now = 1000.0
        return look(job)
    client.job_status = job_status
    reach(client)
    task = asyncio.create_task(events())
    await asked.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        say("cancelled", client.closed)
asyncio.run(cancelled())
""",
    )
    assert lines == ["cancelled 1"]
