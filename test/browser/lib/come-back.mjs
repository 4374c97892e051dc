/** As if somebody came back to a tab after a minute: what the page shows is stale by then, and asked anew. */
export const comeBack = (page) =>
  page.evaluate(() => {
    const { now } = Date
    Date.now = () => now() + 60_000
    dispatchEvent(new Event('visibilitychange'))
  })
