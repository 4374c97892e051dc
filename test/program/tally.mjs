/** Counts what was checked, says each result on a line of its own, and closes with the sum. */
export function createTally() {
  const counts = { passed: 0, failed: 0 }
  return {
    check(passed, says) {
      counts[passed ? 'passed' : 'failed'] += 1
      console.log(`${passed ? 'pass' : 'FAIL'}  ${says}`)
    },
    get isPassed() {
      return counts.failed === 0
    },
    close() {
      console.log(`${counts.passed} passed, ${counts.failed} failed`)
      process.exitCode = counts.failed > 0 ? 1 : 0
    },
  }
}
