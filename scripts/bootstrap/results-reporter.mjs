import { writeFileSync } from 'node:fs'

/** A Vitest reporter that leaves the outcome of every test, and what its file took, in the file that MILLRACE_TEST_RESULTS names. */
export default class ResultsReporter {
  onTestRunEnd(modules) {
    const files = modules.map((module) => ({
      path: module.relativeModuleId,
      suite: module.project.name,
      ms: workOf(module.diagnostic()),
      status: module.state(),
      tests: [...module.children.allTests()].map((test) => ({ status: test.result().state, name: test.fullName })),
    }))
    writeFileSync(process.env.MILLRACE_TEST_RESULTS, JSON.stringify(files))
  }
}

/** From its loading to its last test. */
const workOf = ({ prepareDuration, setupDuration, collectDuration, duration }) =>
  prepareDuration + setupDuration + collectDuration + duration
