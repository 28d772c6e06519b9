"""A run of a page waits for torch only as long as its visitor does."""

from threading import Event

from streamlit.testing.v1 import AppTest

from ncd.view.runtime import torch_threads


def waits() -> None:
    """A page that waits for what never ends, the first time; something else is asked for then."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from ncd.view.runtime import torch_threads

    if "waits" not in st.session_state:
        st.session_state.waits = True
        run = get_script_run_ctx()
        assert run is not None
        run.yield_check.__self__.request_rerun(RerunData())  # type: ignore[attr-defined]
        torch_threads.run(st.session_state.end.wait)
    st.text("anew")


def test_who_goes_on_does_not_wait_for_what_was_asked_before() -> None:
    app, end = AppTest.from_function(waits), Event()
    app.session_state.end = end
    try:
        assert app.run().text[0].value == "anew"
    finally:
        end.set()


def queues() -> None:
    """A page that waits for its turn behind others, the first time; something else is asked for."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from ncd.view.runtime import torch_threads

    if "queues" not in st.session_state:
        st.session_state.queues = True
        run, begun = get_script_run_ctx(), st.session_state.begun
        assert run is not None
        run.yield_check.__self__.request_rerun(RerunData())  # type: ignore[attr-defined]
        torch_threads.run(lambda: begun.append("its turn"), long=True)


def test_what_nobody_waits_for_any_more_never_begins() -> None:
    app, end, begun = AppTest.from_function(queues), Event(), list[str]()
    app.session_state.begun = begun
    others = [torch_threads._long.submit(end.wait) for _ in range(torch_threads.HALF)]
    try:
        app.run()
    finally:
        end.set()
    assert all(other.result() for other in others)
    assert [torch_threads.run(lambda: "the next", long=True), *begun] == ["the next"]
