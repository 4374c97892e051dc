#!/usr/bin/env node
import { EXIT } from '../cli/exit-codes.ts'
import { readEnvironment } from './config/read/environment.ts'
import { createFaults, failureSentences } from './process/faults.ts'
import { createProcessTerminal } from './process/process-terminal.ts'
import { runMain } from './run-main.ts'

const environment = readEnvironment()
const terminal = createProcessTerminal(environment)
process.title = 'millrace'
// A command has nothing to drain; a server takes the faults over as soon as it has.
const faults = createFaults(process, (error) => {
  for (const line of failureSentences(error)) terminal.err(`error: ${line}\n`)
  process.exit(EXIT.failure)
})
process.exitCode = await runMain({ environment, terminal, faults, cwd: process.cwd() }, process.argv.slice(2))
