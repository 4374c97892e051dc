import { nanoOf } from '../../support/test-account.ts'

/** The exact amount of a `Money` element in nano-USD. */
export async function moneyIn(place) {
  const title = await place.locator('[title]').first().getAttribute('title')
  return nanoOf(title.replace('−', '-').replaceAll(/[$,\s]/g, ''))
}

export const clipboardOf = (page) => page.evaluate(() => navigator.clipboard.readText())
