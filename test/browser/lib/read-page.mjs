import { nanoOf } from '../../support/test-account.ts'

/** The exact amount behind what `Money` shows, in nano-USD. */
export async function moneyIn(place) {
  const title = await place.locator('[title]').first().getAttribute('title')
  return nanoOf(title.replace('−', '-').replaceAll(/[$,\s]/g, ''))
}

/** What lies on the clipboard: the way by which a secret leaves the page. */
export const clipboardOf = (page) => page.evaluate(() => navigator.clipboard.readText())
