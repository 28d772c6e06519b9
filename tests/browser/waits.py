"""What Playwright has no words for: a page at rest, the next frame, another page of the app."""

from playwright.sync_api import Page

# Resolves once the document, its shadow roots included, has not changed for a while, no animation
# runs that has an end, and Streamlit neither runs the script nor shows anything of an earlier run.
QUIET = """
([still, patience]) => new Promise((resolve, reject) => {
  const roots = (root) => [root, ...[...root.querySelectorAll("*")]
    .filter((e) => e.shadowRoot).flatMap((e) => roots(e.shadowRoot))];
  const begun = performance.now();
  let changed = begun;
  const note = () => { changed = performance.now(); };
  const observer = new MutationObserver(note);
  const seen = new WeakSet();
  const moves = (animation) => animation.playState === "running"
    && Number.isFinite(animation.effect.getComputedTiming().endTime);
  const runs = () => document.querySelector("[data-stale=true], "
    + "[data-testid=stApp]:not([data-test-script-state=notRunning])");
  const look = () => {
    const every = roots(document);
    for (const root of every.filter((root) => !seen.has(root))) {
      seen.add(root);
      observer.observe(root,
        { subtree: true, childList: true, attributes: true, characterData: true });
    }
    if (runs() || every.some((root) => root.getAnimations().some(moves))) note();
    const over = performance.now() - changed > still;
    if (over || performance.now() - begun > patience) {
      observer.disconnect();
      over ? resolve() : reject(new Error("the page is never still"));
    } else setTimeout(look, 20);
  };
  look();
})
"""
STILL = 150  # milliseconds without a change
PATIENCE = 30_000  # milliseconds, as on a busy machine


def quiet(page: Page) -> None:
    """Waits until nothing changes or moves on the page and no run of the script goes on."""
    page.evaluate(QUIET, [STILL, PATIENCE])


def location(page: Page) -> str:
    """Returns the address of a page; ``page.url`` is that of Playwright's last message."""
    return str(page.evaluate("location.href"))


def next_frame(page: Page) -> None:
    """Waits until the browser has drawn what was asked of it so far."""
    page.evaluate("() => new Promise(requestAnimationFrame)")


def turn_to(page: Page, path: str) -> None:
    """Shows another page of the app, as a step in the history does, without loading it again."""
    page.evaluate(
        """path => { history.pushState(null, "", path);
        dispatchEvent(new PopStateEvent("popstate", { state: null })); }""",
        path,
    )
