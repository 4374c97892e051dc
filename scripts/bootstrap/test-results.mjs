/**
 * Counts what the reporter left. A file that cannot be loaded has no tests to fail and counts as one failure, and so does
 * a run that ended badly although every test passed: an unhandled error, or no tests at all.
 */
export function countResults(files, exitCode) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const { status, tests } of files ?? []) {
    for (const test of tests) {
      if (test.status === 'passed') counts.passed += 1
      else if (test.status === 'failed') counts.failed += 1
      else counts.skipped += 1
    }
    if (status === 'failed' && !tests.some((test) => test.status === 'failed')) counts.failed += 1
  }
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1
  return counts
}

export const skippedNames = (files) =>
  (files ?? []).flatMap(({ tests }) => tests.filter(({ status }) => status === 'skipped').map(({ name }) => name))

export const closingLine = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

const needsPostgres = ({ path }) => path?.includes('test/postgres/') === true

/** What a machine may lack, and whether this one did. */
export function neededLine(files) {
  const ran = (files ?? []).filter(needsPostgres).some(({ tests }) => tests.some(({ status }) => status === 'passed'))
  if (ran) return 'The suites that need PostgreSQL ran here, on a server of their own. No suite needs a browser.'
  return 'The suites that need PostgreSQL did not run: it is not on this machine (Debian: apt-get install postgresql).'
}
