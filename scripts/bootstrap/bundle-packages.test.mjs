import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { BUNDLED, linkBundles } from './bundle-packages.mjs'
import { filesBelow } from './fingerprint.mjs'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))

it('imports of bundled packages become imports of their bundles, and no others do', () => {
  const code = `import { sql } from 'kysely';\nimport { TrieRouter } from 'hono/router/trie-router';\nimport { Pool } from 'pg';\nconst text = "from 'zod'";\n`
  expect(linkBundles(code, 'db/content/rows.js')).toBe(
    `import { sql } from '../../packages/kysely.js';\nimport { TrieRouter } from '../../packages/hono-router-trie-router.js';\nimport { Pool } from 'pg';\nconst text = "from 'zod'";\n`,
  )
  expect(linkBundles(`import { z } from 'zod'\n`, 'main.js')).toBe(`import { z } from './packages/zod.js'\n`)
  expect(linkBundles(`await import('undici/lib/core/connect.js'), import('pg')`, 'providers/pools.js')).toBe(
    `await import('../packages/undici-lib-core-connect.js'), import('pg')`,
  )
})

it('no built file loads a bundled package from elsewhere, and the bundles carry their licences', () => {
  const built = filesBelow(DIST).filter((path) => path.endsWith('.js') && !/^(?:console|docs|packages)\//.test(path))
  const loads = (path) => {
    const code = readFileSync(join(DIST, path), 'utf8')
    return BUNDLED.some((name) => new RegExp(`(?:from|import|require)\\s*\\(?\\s*['"]${name}['"]`).test(code))
  }
  expect(built.length).toBeGreaterThan(300)
  expect(built.filter(loads)).toEqual([])
  const licences = readFileSync(join(DIST, 'packages/LICENSES.txt'), 'utf8')
  for (const name of BUNDLED) expect(licences).toMatch(new RegExp(`^${name.split('/')[0]} \\d`, 'm'))
})
