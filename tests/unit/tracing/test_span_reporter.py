"""Each span is sent once, under ids that every service can derive."""

from tests.unit.tracing.recorded_spans import RecordedSpans
from vc.messages.trace import ROOT_SPAN, attempt_span, session_trace, span_id, trace_id, traceparent
from vc.runtime.hosting.tracing import REPORTED_MAX, NoTracer, Span, SpanReporter


def test_a_span_is_told_once() -> None:
    recorded = RecordedSpans()
    reporter = SpanReporter(recorded)
    for ended in (2.0, 3.0):
        reporter.report(Span("uid", "bind", started=1.0, ended=ended))
    reporter.report(Span("other", "bind", started=1.0, ended=4.0))
    assert recorded.spans == [("uid", "bind", 1.0, 2.0), ("other", "bind", 1.0, 4.0)]


def test_another_edition_is_told_again() -> None:
    recorded = RecordedSpans()
    reporter = SpanReporter(recorded)
    for phase in ("Aborted", "Aborted", "Completed"):
        reporter.report(Span("uid", ROOT_SPAN, started=1.0, ended=2.0), edition=phase)
    assert len(recorded.spans) == 2


def test_a_start_from_a_clock_ahead_of_ours_gives_no_negative_span() -> None:
    recorded = RecordedSpans()
    SpanReporter(recorded).report(Span("uid", "watch", started=5.0, ended=4.0))
    assert recorded.spans == [("uid", "watch", 4.0, 4.0)]


def test_the_memory_of_what_was_told_is_bounded() -> None:
    recorded = RecordedSpans()
    reporter = SpanReporter(recorded)
    for number in range(REPORTED_MAX + 1):
        reporter.report(Span(str(number), "bind", started=1.0, ended=2.0))
    assert not reporter.has_reported("0", "bind")
    assert reporter.has_reported("1", "bind")


def test_without_a_tracer_nothing_is_remembered() -> None:
    reporter = SpanReporter(NoTracer())
    reporter.report(Span("uid", "bind", started=1.0, ended=2.0))
    assert not reporter.enabled
    assert not reporter.has_reported("uid", "bind")


def test_attempts_and_sessions_have_identities_of_their_own() -> None:
    assert [attempt_span("bind", version) for version in (0, 1, 2)] == ["bind", "bind-2", "bind-3"]
    assert trace_id(session_trace("1-2")) != trace_id(session_trace("1-3"))


def test_the_header_of_a_job_names_its_root() -> None:
    assert traceparent("uid") == f"00-{trace_id('uid')}-{span_id('uid', ROOT_SPAN)}-01"
