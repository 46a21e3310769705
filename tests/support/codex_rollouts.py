"""Lines of Codex's rollouts, reduced to what its reader looks at."""

from __future__ import annotations

Line = dict[str, object]

PARENT = "019a0000-0000-7000-8000-000000000001"
THREAD = "019a0000-1000-7000-8000-000000000002"
CHILD = "019a0000-2000-7000-8000-000000000003"
PARENTS_TURN = "019a0000-0500-7000-8000-00000000000a"
TURN = "019a0000-1500-7000-8000-00000000000b"
CHILDS_TURN = "019a0000-2500-7000-8000-00000000000c"


def name_of(thread_id: str) -> str:
    return f"rollout-2026-01-05T10-00-00-{thread_id}.jsonl"


def at(second: int) -> str:
    return f"2026-01-05T10:00:{second:02}.000Z"


def line(kind: str, second: int, /, **payload: object) -> Line:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def event(kind: str, second: int = 1, /, **fields: object) -> Line:
    return line("event_msg", second, type=kind, **fields)


def item(kind: str, second: int = 1, /, **fields: object) -> Line:
    return line("response_item", second, type=kind, **fields)


def completed(kind: str, second: int = 1, /, **fields: object) -> Line:
    return event("item_completed", second, item={"type": kind} | fields)


def header(thread_id: str = THREAD, second: int = 0, /, **fields: object) -> Line:
    told = {"cwd": "/work/app", "cli_version": "0.171.0", "model_provider": "lab"}
    return line("session_meta", second, **({"id": thread_id} | told | fields))


def turn(turn_id: str = TURN, second: int = 1, model: str = "m1") -> list[Line]:
    return [
        event("task_started", second, turn_id=turn_id),
        line("turn_context", second, turn_id=turn_id, model=model, cwd="/work/app"),
    ]


def asked(call_id: str, name: str, arguments: str = "{}", second: int = 2, **fields: object) -> Line:
    return item("function_call", second, name=name, call_id=call_id, arguments=arguments, **fields)


def answered(call_id: str, output: object, second: int = 3) -> Line:
    return item("function_call_output", second, call_id=call_id, output=output)


def tokens(inputs: int, cached: int, output: int, reasoning: int = 0) -> Line:
    return {
        "input_tokens": inputs,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": inputs + output,
    }


def counted(total: Line, last: Line | None = None, second: int = 2) -> Line:
    """Cumulative counts of 0.30 to 0.160, and the last reply's."""
    info = {"total_token_usage": total, "last_token_usage": last, "model_context_window": 1_000}
    return event("token_count", second, info=info)


def replied(
    response_id: str, usage: Line, thread_id: str = THREAD, session_id: str = "", second: int = 2
) -> Line:
    """A reply's own record, since 0.164."""
    return line(
        "token_usage_record",
        second,
        thread_id=thread_id,
        session_id=session_id or thread_id,
        response_id=response_id,
        usage=usage,
    )
