import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bundledPackages } from '../make-sbom.mjs'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const lock = JSON.parse(readFileSync(join(CHECKOUT, 'package-lock.json'), 'utf8')).packages

/** Each may be passed on beside code under the Apache License 2.0, and asks for no more than to be named. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0', 'Unlicense']

/** What a release installs, and what its console and its pages contain. */
const shipped = (packages, bundled) =>
  Object.keys(packages).filter((path) => path !== '' && (packages[path].dev !== true || bundled.has(path)))

const refused = (packages, paths) =>
  paths
    .filter((path) => !ALLOWED.includes(packages[path].license))
    .map((path) => `${path}: ${packages[path].license ?? 'no licence'}`)

it('every package that is shipped has a licence of the list, and the list has no other', () => {
  const paths = shipped(lock, bundledPackages(CHECKOUT, lock))
  expect(paths.length).toBeGreaterThan(50)
  expect(paths).toEqual(expect.arrayContaining(['node_modules/hono', 'node_modules/react', 'node_modules/undici']))
  expect(refused(lock, paths)).toEqual([])
  const used = new Set(paths.map((path) => lock[path].license))
  expect(ALLOWED.filter((licence) => !used.has(licence) && licence !== 'BSD-2-Clause')).toEqual([])
})

it('another licence, or none, would be noticed', () => {
  const packages = {
    '': {},
    'node_modules/a': { license: 'MIT' },
    'node_modules/b': { license: 'AGPL-3.0' },
    'node_modules/c': {},
    'node_modules/d': { license: 'GPL-3.0', dev: true },
    'node_modules/e': { license: 'SSPL-1.0', dev: true },
  }
  expect(refused(packages, shipped(packages, new Set(['node_modules/e'])))).toEqual([
    'node_modules/b: AGPL-3.0',
    'node_modules/c: no licence',
    'node_modules/e: SSPL-1.0',
  ])
})
