"""Edits of strict JSON text by the smallest splices: whatever lies outside of them keeps its bytes."""

from collections.abc import Sequence

from tokeneconomizer.writers.edit_model import blocked, last_index_of
from tokeneconomizer.writers.edits import (
    JSON,
    AddElement,
    AddMember,
    Edit,
    Path,
    PutBack,
    RemoveElement,
    RemoveEmpty,
    RemoveMember,
    SetMember,
    SwapBack,
    TakeAway,
    same_value,
)
from tokeneconomizer.writers.json_layout import (
    Layout,
    entries,
    layout_of,
    line_break_of,
    line_indent,
    own_line_indent,
    space_before,
)
from tokeneconomizer.writers.json_spans import WHITESPACE, ArraySpan, ObjectSpan, Span, body_start, scan
from tokeneconomizer.writers.splices import Splice, make_all

__all__ = ["AddElement", "RemoveElement", "RemoveMember", "SetMember", "apply", "is_blank", "plan"]


def apply(text: str, edits: Sequence[Edit]) -> str:
    """Give the text after the edits; an empty text counts as an empty document."""
    return make_all(text, plan(text, edits))


def plan(text: str, edits: Sequence[Edit]) -> tuple[Splice, ...]:
    """Give the splices of the edits, in order; an edit that has nothing to do gives none."""
    splices: list[Splice] = []
    for edit in edits:
        splice = _begin_document(text, edit) if is_blank(text) else _Editor(text).splice(edit)
        if splice is not None:
            splices.append(splice)
            text = splice.make(text)
    return tuple(splices)


def is_blank(text: str) -> bool:
    """Tell whether the text holds no document at all."""
    return not text[body_start(text) :].strip(WHITESPACE)


def _begin_document(text: str, edit: Edit) -> Splice | None:
    match edit:
        case SetMember(path, value) | AddMember(path, value) | PutBack((_,) as path, value):
            pass
        case AddElement(path, element):
            value = [element]
        case _:
            return None
    start, layout = body_start(text), Layout(line_break_of(text))
    document = layout.render(_nested(path, value), "") + layout.line_break
    return Splice(start, text[start:], document)


def _nested(path: Path, value: JSON) -> JSON:
    for key in reversed(path):
        value = {key: value}
    return value


class _Editor:
    """One edit of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = scan(text)

    def splice(self, edit: Edit) -> Splice | None:
        """Give the splice of one edit, if it changes anything."""
        if not self.applies(edit):
            return None
        match edit:
            case SetMember() | AddMember() | SwapBack() | PutBack():
                return self.set(edit, edit.path, edit.value)
            case AddElement():
                return self.add_element(edit)
            case RemoveMember() | RemoveEmpty() | TakeAway():
                return self.remove_member(edit.path)
            case RemoveElement():
                return self.remove_element(edit)

    def applies(self, edit: Edit) -> bool:
        """Tell whether an edit that takes something back still finds what it was made for."""
        found = self.find(edit.path)
        match edit:
            case RemoveEmpty():
                return found is not None and found.value in ({}, [])
            case SwapBack():
                return found is not None and same_value(found.value, edit.ours)
            case TakeAway():
                return found is not None and same_value(found.value, edit.value)
            case AddMember():
                return found is None
            case PutBack():
                return found is None and isinstance(self.find(edit.path[:-1]), ObjectSpan)
            case _:
                return True

    def find(self, path: Path) -> Span | None:
        """Give the span of the value at the path."""
        span = self.root
        for key in path:
            member = span.find(key) if isinstance(span, ObjectSpan) else None
            if member is None:
                return None
            span = member.span
        return span

    def set(self, edit: Edit, path: Path, value: JSON) -> Splice | None:
        """Replace the value at the path, or add what is missing on the way to it as one member."""
        span: Span = self.root
        base: str | None = line_indent(self.text, self.root.start)
        for depth, key in enumerate(path):
            if not isinstance(span, ObjectSpan):
                raise blocked(edit)
            member = span.find(key)
            if member is None:
                return self.append(span, base, _nested(path[depth + 1 :], value), key)
            span, base = member.span, own_line_indent(self.text, member.start)
        if same_value(span.value, value):
            return None
        return self.exchange(span.start, span.end, self.layout.render(value, base))

    def add_element(self, edit: AddElement) -> Splice | None:
        """Append to the array at the path."""
        parent = self.find(edit.path[:-1])
        member = parent.find(edit.path[-1]) if isinstance(parent, ObjectSpan) else None
        if member is None:
            return self.set(edit, edit.path, [edit.value])
        if not isinstance(member.span, ArraySpan):
            raise blocked(edit)
        if self.index_of(member.span, edit.value) is not None:
            return None
        return self.append(member.span, own_line_indent(self.text, member.start), edit.value)

    def remove_member(self, path: Path) -> Splice | None:
        """Cut out the member at the path."""
        parent = self.find(path[:-1])
        if not isinstance(parent, ObjectSpan):
            return None
        keys = [member.key for member in parent.members]
        return self.cut(parent, keys.index(path[-1])) if path[-1] in keys else None

    def remove_element(self, edit: RemoveElement) -> Splice | None:
        """Cut out the last element that equals the value."""
        span = self.find(edit.path)
        if not isinstance(span, ArraySpan):
            return None
        index = self.index_of(span, edit.value)
        return self.cut(span, index) if index is not None else None

    def index_of(self, span: ArraySpan, value: JSON) -> int | None:
        """Give the place of the last element that equals the value."""
        return last_index_of([element.value for element in span.elements], value)

    @property
    def layout(self) -> Layout:
        """Learn the habits of the text, only when something is to be written."""
        return layout_of(self.text, self.root)

    def append(self, span: ObjectSpan | ArraySpan, base: str | None, value: JSON, key: str = "") -> Splice:
        """Put an entry behind the last one, laid out like it; the first one as its container is."""
        layout, inside = self.layout, entries(span)
        if inside:
            inner = own_line_indent(self.text, inside[-1].start)
        else:
            inner = None if base is None else base + layout.indent
        new = (
            layout.render_member(key, value, inner)
            if isinstance(span, ObjectSpan)
            else layout.render(value, inner)
        )
        if inside:
            end = inside[-1].end
            gap = space_before(self.text, inside[-1].start) if inside[1:] else layout.gap
            return Splice(end, "", "," + (gap if inner is None else layout.line_break + inner) + new)
        if base is None or inner is None:
            return self.exchange(span.start + 1, span.end - 1, new)
        lines = layout.line_break + inner + new + layout.line_break + base
        return self.exchange(span.start + 1, span.end - 1, lines)

    def cut(self, span: ObjectSpan | ArraySpan, index: int) -> Splice:
        """Cut out an entry with the comma that it needed; the last one leaves its container empty."""
        inside = entries(span)
        if len(inside) == 1:
            return self.exchange(span.start + 1, span.end - 1, "")
        if index == 0:
            return self.exchange(inside[0].start, inside[1].start, "")
        return self.exchange(inside[index - 1].end, inside[index].end, "")

    def exchange(self, start: int, end: int, new: str) -> Splice:
        """Make a splice of a stretch of the text."""
        return Splice(start, self.text[start:end], new)
