import { findChromium } from './find-chromium.mjs'

/** Once before the suite, so that nobody takes what was skipped for what has passed. */
export default function sayWithoutChromium() {
  if (findChromium(process.env) !== undefined) return
  console.log('No Chromium here, neither in CHROMIUM nor in PATH: the suites of test/browser are skipped.')
}
