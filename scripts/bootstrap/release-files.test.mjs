import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { filesOf } from './fingerprint.mjs'
import { npmCommand } from './run-npm.mjs'

// docs/operate/compose.md has operators put passwords below deploy/, which a release contains.

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const SECRET = 'deploy/compose/secrets/postgres_password'
const { files } = JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8'))

let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-release-'))
  for (const path of [SECRET, 'deploy/compose/one-node.yaml', 'dist/app/main.js', 'docs/a.md', 'schema/a.json']) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), '')
  }
  for (const path of ['package.json', 'CHANGELOG.md', 'NOTICE', 'SECURITY.md', '.gitignore', '.dockerignore'])
    cpSync(join(CHECKOUT, path), join(root, path))
})
afterEach(() => rmSync(root, { recursive: true }))

it('a release has the deployment files without the secrets beside them', () => {
  const packed = filesOf(root, files)
  expect(packed).toEqual(expect.arrayContaining(['deploy/compose/one-node.yaml', 'dist/app/main.js', 'NOTICE']))
  expect(packed).not.toContain(SECRET)
})

it('npm pack leaves the secrets out', () => {
  const { command, prefix } = npmCommand(process.env, process.execPath)
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--cache', join(root, '.cache')]
  const { stdout } = spawnSync(command, [...prefix, ...args], { cwd: root, encoding: 'utf8' })
  const packed = JSON.parse(stdout)[0].files.map(({ path }) => path)
  expect(packed).toContain('deploy/compose/one-node.yaml')
  expect(packed).not.toContain(SECRET)
})

it('git and the build of the image leave the secrets out', () => {
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  git('init', '--quiet')
  expect(git('check-ignore', SECRET).stdout.trim()).toBe(SECRET)
  expect(readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')).toContain(dirname(SECRET))
})

/** Tests, their data, and what holds secrets or belongs to one machine. */
const UNWANTED =
  /(^|\/)(test|fixtures|node_modules|secrets|\.env[^/]*|keyring\.json|first-key|server\.json)(\/|$)|\.test\.[cm]?[jt]sx?$|\.(pem|key|p12|db|sqlite|log|tgz)$/
/** With a body: pages say how a key begins. */
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----\s*[\w+/=]{40}/

it('this checkout has nothing of tests and no secret where a release is made of', () => {
  const packed = filesOf(
    CHECKOUT,
    files.filter((name) => name !== 'dist' || existsSync(join(CHECKOUT, name))),
  )
  expect(packed.length).toBeGreaterThan(100)
  expect(packed.filter((path) => UNWANTED.test(path))).toEqual([])
  expect(packed.filter((path) => PRIVATE_KEY.test(readFileSync(join(CHECKOUT, path), 'latin1')))).toEqual([])
  for (const path of ['dist/a.test.js', 'docs/fixtures/a.md', 'deploy/tls/server.key', 'deploy/.env', 'dist/ledger.db'])
    expect(UNWANTED.test(path), path).toBe(true)
})
