import { pathToFileURL } from 'node:url'
import { fail } from './bootstrap/failure.mjs'
import { followNpm } from './bootstrap/signals-under-npm.mjs'
import { bootstrap } from './bootstrap.mjs'

// The program runs in this process, so it gets signals directly and sets the exit code.
const program = await bootstrap().catch(fail)
if (process.env.npm_lifecycle_event !== undefined) followNpm(process)
process.argv[1] = program
await import(pathToFileURL(program).href)
