const TABS_MAX = 120
const ITEMS_MAX = 12

/** Moves the focus to an element with the tab key and fails if that is impossible. */
export async function tabTo(page, target) {
  await target.waitFor()
  for (let tabs = 0; tabs < TABS_MAX; tabs++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach ${target}.`)
}

export async function pressBy(page, target) {
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}

export async function typeAndSend(page, field, text) {
  await tabTo(page, field)
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** Picks a menu item with the arrow keys. */
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
  throw new Error(`The arrow keys do not reach ${name}.`)
}
