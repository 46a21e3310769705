"""The labels that users see in their own language; a command's help and errors stay English."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from tokeneconomizer.console.state import configuration_or_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokeneconomizer.console.daemon_process import DaemonState
    from tokeneconomizer.domain.settings import Configuration

LABELS: dict[str, dict[str, str]] = {
    "active": {"en": "sessions at work", "zh": "进行中的会话"},
    "agent": {"en": "agent", "zh": "代理"},
    "calls": {"en": "tool calls", "zh": "工具调用"},
    "counted": {"en": "Counted so far", "zh": "累计"},
    "daemon": {"en": "daemon", "zh": "守护进程"},
    "delivery_failures": {"en": "answers not delivered", "zh": "未送达的答复"},
    "deny_lists": {"en": "Deny lists", "zh": "禁用清单"},
    "failed": {"en": "calls that failed", "zh": "失败的调用"},
    "gates": {"en": "turns that passed the gate", "zh": "触发门槛的轮次"},
    "heard": {"en": "Agents heard, newest event", "zh": "收到的代理，最近事件"},
    "hints": {"en": "stop hints", "zh": "停止提示"},
    "home": {"en": "home", "zh": "主目录"},
    "judge": {"en": "judge", "zh": "裁判"},
    "judge_calls": {"en": "times the judge was asked", "zh": "询问裁判的次数"},
    "last_event": {"en": "last event", "zh": "最近事件"},
    "log": {"en": "log", "zh": "日志"},
    "loopguard": {"en": "loop guard", "zh": "循环守卫"},
    "microskills": {"en": "microskills", "zh": "微技能"},
    "minutes_left": {"en": "{minutes} idle minutes left", "zh": "还需空闲 {minutes} 分钟"},
    "never_ran": {"en": "calls that never ran", "zh": "未执行的调用"},
    "none": {"en": "none", "zh": "无"},
    "not_running": {
        "en": "not running; the next hook starts it, or `te daemon start`",
        "zh": "未运行；下一次 hook 或 `te daemon start` 会启动它",
    },
    "nothing_yet": {
        "en": "no event is stored yet: run `te setup`, then work with your agent",
        "zh": "尚未记录任何事件：请运行 `te setup`，然后照常使用代理",
    },
    "other_version": {
        "en": "the daemon has version {daemon}, this program {program}: "
        "run `te daemon stop`, then `te daemon start`",
        "zh": "守护进程的版本是 {daemon}，本程序是 {program}："
        "请运行 `te daemon stop`，再运行 `te daemon start`",
    },
    "parts": {"en": "Parts", "zh": "功能"},
    "pid": {"en": "process", "zh": "进程"},
    "problem": {"en": "problem", "zh": "问题"},
    "prompts_human": {"en": "prompts", "zh": "提示"},
    "prompts_machine": {"en": "machine-made prompts", "zh": "机器生成的提示"},
    "redirected_by": {"en": "Redirects by rule", "zh": "各规则的纠偏"},
    "redirects": {"en": "redirects delivered", "zh": "已送达的纠偏"},
    "repository": {"en": "repository", "zh": "仓库"},
    "running": {"en": "running", "zh": "运行中"},
    "session": {"en": "session", "zh": "会话"},
    "sessions": {"en": "sessions", "zh": "会话"},
    "sessions_newest": {"en": "Newest sessions", "zh": "最近的会话"},
    "set_aside": {"en": "events set aside", "zh": "搁置的事件"},
    "silent": {
        "en": "holds its lock and does not answer: see its log, then `te doctor`",
        "zh": "持有锁但没有应答：请查看日志，再运行 `te doctor`",
    },
    "since": {"en": "since", "zh": "启动时间"},
    "spool_refused": {"en": "calls refused", "zh": "被拒绝的调用记录"},
    "spool_waiting": {"en": "calls waiting to be stored", "zh": "等待存储的调用记录"},
    "state": {"en": "state", "zh": "状态"},
    "state_archived": {"en": "archived", "zh": "已归档"},
    "state_ended": {"en": "ended", "zh": "已结束"},
    "state_idle": {"en": "idle", "zh": "空闲"},
    "state_redirected": {"en": "redirected", "zh": "已纠偏"},
    "state_stuck": {"en": "stuck", "zh": "卡住"},
    "state_working": {"en": "working", "zh": "工作中"},
    "sub_agents": {"en": "sub-agents", "zh": "子代理"},
    "toolprune": {"en": "tool pruning", "zh": "工具精简"},
    "turn": {"en": "turn", "zh": "轮次"},
    "unknown": {"en": "unknown", "zh": "未知"},
    "verdicts_stuck": {"en": "verdicts: stuck", "zh": "裁定为卡住"},
    "version": {"en": "version", "zh": "版本"},
}
"""Label -> its words in each language."""


def language_of(configuration: Configuration, environment: Mapping[str, str]) -> str:
    """Return `en` or `zh`: what the user chose, else what the environment's locale says."""
    chosen = str(configuration.get("lang"))
    if chosen != "auto":
        return chosen
    locale = environment.get("LC_ALL") or environment.get("LANG", "")
    return "zh" if locale.lower().startswith("zh") else "en"


@dataclass(frozen=True, slots=True)
class Words:
    """
    The labels in one language.

    Attributes:
        language: `en` or `zh`.

    """

    language: str = "en"

    @classmethod
    def of_user(cls) -> Self:
        """Return the labels in the user's language."""
        configuration, _ = configuration_or_problem()
        return cls(language_of(configuration, os.environ))

    def label(self, name: str) -> str:
        """Return the words of a label."""
        return LABELS[name][self.language]

    def condition(self, daemon: DaemonState) -> tuple[str, str]:
        """Return whether the daemon runs, in words, and what a cell with them means."""
        if daemon.answers:
            return self.label("running"), "good"
        if daemon.running:
            return self.label("silent"), "bad"
        return self.label("not_running"), "doubtful"
