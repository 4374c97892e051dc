/**
 * Counts of a Vitest JSON report. A file that cannot be loaded has no tests to fail and counts as one failure, and so
 * does a run that ended badly although every test passed: an unhandled error, or no tests at all.
 */
export function countResults(results, exitCode) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const file of results?.testResults ?? []) {
    for (const test of file.assertionResults) {
      if (test.status === 'passed') counts.passed += 1
      else if (test.status === 'failed') counts.failed += 1
      else counts.skipped += 1
    }
    const silent = file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')
    if (silent) counts.failed += 1
  }
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1
  return counts
}

export const skippedNames = (results) =>
  (results?.testResults ?? []).flatMap((file) =>
    file.assertionResults
      .filter((test) => test.status !== 'passed' && test.status !== 'failed')
      .map((test) => test.fullName),
  )

export const closingLine = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
