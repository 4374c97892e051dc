/**
 * Counts the reporter's results. A file that cannot be loaded counts as one failure, and so does a run that failed although every test
 * passed: an unhandled error, or no tests at all.
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

/** One line per suite. Files run in parallel, so these seconds exceed the elapsed time. */
export function suiteLines(files) {
  const suites = new Map()
  for (const { suite, tests, ms } of files ?? []) {
    const sum = suites.get(suite) ?? { files: 0, tests: 0, ms: 0 }
    suites.set(suite, { files: sum.files + 1, tests: sum.tests + tests.length, ms: sum.ms + ms })
  }
  return [...suites].map(
    ([suite, { files, tests, ms }]) =>
      `suite ${suite}: ${Math.round(ms / 1000)} s of work in ${files} files, ${tests} tests`,
  )
}

export const skippedNames = (files) =>
  (files ?? []).flatMap(({ tests }) => tests.filter(({ status }) => status === 'skipped').map(({ name }) => name))

export const closingLine = ({ passed, failed, skipped }) =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`

const NEEDED = [
  { what: 'PostgreSQL', project: 'postgres', folder: 'test/postgres/', install: 'apt-get install postgresql' },
  { what: 'a browser', project: 'browser', folder: 'test/browser/', install: 'apt-get install chromium' },
]

/** What a machine may lack, and whether this one does. `left` are projects that were excluded on purpose. */
export const neededLine = (files, left = []) =>
  NEEDED.filter(({ project }) => !left.includes(project))
    .map((needed) => neededSentence(files ?? [], needed))
    .join('\n')

function neededSentence(files, { what, folder, install }) {
  const suites = files.filter(({ path }) => path?.includes(folder) === true)
  if (suites.some(({ tests }) => tests.some(({ status }) => status === 'passed'))) {
    return `The suites that need ${what} ran here.`
  }
  return `The suites that need ${what} did not run: it is not on this machine (Debian: ${install}).`
}

/** The excluded projects of a run (`--project '!browser'`); undefined if projects or files were named. */
export function projectsLeftOut(args) {
  const words = args.filter((arg) => arg !== '--project')
  return words.every((word) => word.startsWith('!')) ? words.map((word) => word.slice(1)) : undefined
}
