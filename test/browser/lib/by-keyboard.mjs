const TABS_MAX = 120
const ITEMS_MAX = 12

/** Walks to something with the tab key, as somebody without a mouse does; what cannot be reached that way fails the test. */
export async function tabTo(page, target) {
  await target.waitFor()
  for (let tabs = 0; tabs < TABS_MAX; tabs++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`The tab key does not lead to ${target}.`)
}

/** Walks there and presses it. */
export async function pressBy(page, target) {
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}

/** What has the focus is written into, and sent. */
export async function typeAndSend(page, field, text) {
  await tabTo(page, field)
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** Menus are walked with the arrows: their items are no stops of the tab key. Each step waits until the focus has moved. */
export async function pickBy(page, trigger, name) {
  await pressBy(page, trigger)
  const item = page.getByRole('menuitem', { name, exact: true })
  await item.waitFor()
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
  for (let steps = 0; steps < ITEMS_MAX; steps++) {
    if (await item.evaluate((element) => element === document.activeElement)) return page.keyboard.press('Enter')
    const before = await focused()
    await page.keyboard.press('ArrowDown')
    await page.waitForFunction((former) => document.activeElement?.textContent !== former, before)
  }
  throw new Error(`The arrows do not lead to ${name}.`)
}
