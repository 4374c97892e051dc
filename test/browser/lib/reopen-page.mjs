/** Simulates a return to the tab after a minute, which refetches stale queries. */
export const reopenPage = (page) =>
  page.evaluate(() => {
    const { now } = Date
    Date.now = () => now() + 60_000
    dispatchEvent(new Event('visibilitychange'))
  })
