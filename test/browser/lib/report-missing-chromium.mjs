import { findChromium } from './find-chromium.mjs'

/** Runs once before the suite, so that skipped tests are not mistaken for passed ones. */
export default function reportMissingChromium() {
  if (findChromium(process.env) !== undefined) return
  console.log('No Chromium in CHROMIUM or PATH: the tests of test/browser are skipped.')
}
