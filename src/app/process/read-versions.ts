import { readFileSync } from 'node:fs'
import type { Versions } from '../../cli/cli-deps.ts'
import { openDriver } from '../../sqlite/driver.ts'
import { ledgerSchema } from '../../store/migrations/ledger-schema.ts'

/** The two folders above are the package, from `src` and from `dist` alike. */
const PACKAGE = new URL('../../../package.json', import.meta.url)

export function readVersions(): Versions {
  const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }
  return {
    millrace: version,
    node: process.versions.node,
    schema: ledgerSchema.migrations.at(-1)!.name,
    // Asked for only when it is to be printed: it loads the library.
    get driver() {
      const driver = openDriver({ path: ':memory:', synchronous: 'normal' })
      driver.close()
      return driver.name
    },
  }
}
