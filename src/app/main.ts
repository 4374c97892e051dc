#!/usr/bin/env node
import { readEnvironment } from './config/environment.ts'
import { createProcessTerminal } from './process-terminal.ts'
import { runMain } from './run-main.ts'

const environment = readEnvironment()
const terminal = createProcessTerminal(environment)
process.title = 'millrace'
process.exitCode = await runMain({ environment, terminal, cwd: process.cwd() }, process.argv.slice(2))
