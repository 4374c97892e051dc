import { writeFileSync } from 'node:fs'

/** A Vitest reporter that writes every test's outcome and each file's duration to the file in MILLRACE_TEST_RESULTS. */
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

/** From loading the file to its last test. */
const workOf = ({ prepareDuration, setupDuration, collectDuration, duration }) =>
  prepareDuration + setupDuration + collectDuration + duration
