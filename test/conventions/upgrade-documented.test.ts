import { expect, it } from 'vitest'
import { TABLE_CHANGES } from '../../src/db/postgres/schema.ts'
import { textOf } from './source-files.ts'

const rows = [...textOf('docs/operate/upgrade.md').matchAll(/^\| \d+\.\d+\.\d+ \| (\d+) \|$/gm)]

it('a release changes the tables of PostgreSQL once at most, so that it serves beside the one before', () => {
  const released = Number(rows.at(-1)?.[1])
  // A change since then belongs to the next release, whose row scripts/release.mjs asks for.
  expect([released, released + 1]).toContain(TABLE_CHANGES.length)
})
