import { fail } from './bootstrap/failure.mjs'
import { bootstrap } from './bootstrap.mjs'

// Asked for by name, a build is made; with --if-changed only when something that decides it has changed.
await bootstrap({ rebuild: !process.argv.includes('--if-changed') }).catch(fail)
