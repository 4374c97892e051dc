import { fail } from './bootstrap/failure.mjs'
import { bootstrap } from './bootstrap.mjs'

// Builds; with --if-changed only if an input of the build changed.
await bootstrap({ rebuild: !process.argv.includes('--if-changed') }).catch(fail)
