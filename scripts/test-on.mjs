import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './bootstrap.mjs'

// node scripts/test-on.mjs 22: runs the suites on another Node version, fetched from the package registry into .cache.
const major = process.argv[2] ?? ''
const PACKAGE = `node-${process.platform}-${process.arch}`
const FOLDER = join(ROOT, '.cache', `node${major}`)
const NODE = join(FOLDER, 'node_modules', PACKAGE, 'bin', 'node')

if (!/^\d+$/.test(major)) {
  console.error('Name a Node version: node scripts/test-on.mjs 22')
  process.exitCode = 2
} else if (existsSync(NODE) || install()) {
  const { status } = spawnSync(NODE, [join(ROOT, 'scripts', 'test.mjs'), ...process.argv.slice(3)], {
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
} else {
  console.log(`Not run: Node ${major} could not be installed on this machine.`)
  console.log('0 passed, 0 failed')
}

function install() {
  mkdirSync(FOLDER, { recursive: true })
  const wanted = ['install', '--prefix', FOLDER, '--ignore-scripts', '--no-audit', '--no-fund', `${PACKAGE}@${major}`]
  const { status } = spawnSync('npm', wanted, { cwd: FOLDER, stdio: 'ignore', timeout: 180_000 })
  return status === 0 && existsSync(NODE)
}
