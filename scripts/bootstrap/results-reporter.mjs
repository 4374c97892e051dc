import { writeFileSync } from 'node:fs'

/** A Vitest reporter that leaves the outcome of every test in the file that MILLRACE_TEST_RESULTS names. */
export default class ResultsReporter {
  onTestRunEnd(modules) {
    const files = modules.map((module) => ({
      path: module.relativeModuleId,
      status: module.state(),
      tests: [...module.children.allTests()].map((test) => ({ status: test.result().state, name: test.fullName })),
    }))
    writeFileSync(process.env.MILLRACE_TEST_RESULTS, JSON.stringify(files))
  }
}
