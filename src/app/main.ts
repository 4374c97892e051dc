#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { EXIT } from '../cli/cli-services.ts'
import { readEnvironment } from '../config/files.ts'
import { createFaults, createProcessTerminal, programCommand } from './process.ts'
import { reportFailure, runMain } from './run-main.ts'

// Otherwise V8 collects the whole heap for each 64 MB of buffers, which large bodies and streams fill ten times a second. The flag came
// to Node with 24, and is expected to become the default, and to go, in V8 14.8: an unknown flag would be reported on stderr.
const [v8Major = 0, v8Minor = 0] = process.versions.v8.split('.').map(Number)
if (v8Major === 13 ? v8Minor >= 6 : v8Major === 14 && v8Minor < 8)
  setFlagsFromString('--external-memory-accounted-in-global-limit')

const environment = readEnvironment()
const terminal = createProcessTerminal(environment)
process.title = 'millrace'
// A command has nothing to drain. A server replaces this handler.
const faults = createFaults(process, (error) => {
  reportFailure(terminal, process.argv, { error, exit: EXIT.failure })
  process.exit(EXIT.failure)
})

/** How long the exit of a server waits for a reader of its output. A command waits without limit. */
const EXIT_WAIT_MS = 2_000
const endServer = () => void setTimeout(() => process.exit(), EXIT_WAIT_MS).unref()

const program = programCommand({ node: process.execPath, script: process.argv[1]!, environment })
const context = { environment, terminal, faults, endServer, cwd: process.cwd(), program }
process.exitCode = await runMain(context, process.argv.slice(2))
