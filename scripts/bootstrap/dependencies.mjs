import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { explainWrite, Failure } from './failure.mjs'
import { fingerprint, textOf } from './fingerprint.mjs'
import { folderSize } from './folder-size.mjs'
import { runNpm } from './run-npm.mjs'

const STAMP = 'node_modules/.millrace-stamp'
/** npm writes this file when it has finished; it lists the contents of node_modules. */
const INSTALLED = 'node_modules/.package-lock.json'

// Development packages build the program and optional ones carry native parts, whatever NODE_ENV or a user's npmrc says.
// npm's default retries take 70 seconds without a network; these take 6.
const INSTALL = [
  'ci',
  '--include=dev',
  '--include=optional',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--fetch-retry-mintimeout=1000',
  '--fetch-retry-maxtimeout=5000',
]

/** The stamp covers the lockfile, the platform, and npm's result for both. */
const stampOf = (root) => fingerprint(root, ['package-lock.json', INSTALLED], [process.platform, process.arch])

export const dependenciesStand = (root) =>
  textOf(join(root, INSTALLED)) !== undefined && textOf(join(root, STAMP)) === stampOf(root)

/** Installs what is missing. A matching installation made by another tool is accepted. */
export async function installDependencies({ root, print }) {
  if (!matches(root)) {
    rmSync(join(root, STAMP), { force: true })
    const started = Date.now()
    print('Installing packages from the registry (needed once) ...')
    await runNpm(INSTALL, { root, print })
    const installed = JSON.parse(textOf(join(root, INSTALLED)) ?? '{}')
    const count = Object.keys(installed.packages ?? {}).length
    const megabytes = Math.round(folderSize(join(root, 'node_modules')) / 1e6)
    print(`Installed ${count} packages, ${megabytes} MB, in ${((Date.now() - started) / 1000).toFixed(1)} s.`)
  }
  try {
    writeFileSync(join(root, STAMP), stampOf(root))
  } catch (error) {
    throw explainWrite(error, root)
  }
}

function matches(root) {
  const installed = textOf(join(root, INSTALLED))
  if (installed === undefined) return false
  const machine = { platform: process.platform, arch: process.arch, libc: cLibrary() }
  return missingPackages(wanted(root), JSON.parse(installed), machine).length === 0
}

function wanted(root) {
  const text = textOf(join(root, 'package-lock.json'))
  if (text !== undefined) return JSON.parse(text)
  throw new Failure('package-lock.json is missing.', 'Restore it: git checkout package-lock.json')
}

/** Lockfile paths that this machine needs and that are missing or have another version. */
export function missingPackages(lock, installed, machine) {
  const isMissing = ([path, entry]) => {
    const found = installed.packages?.[path]
    if (found === undefined) return isNeeded(entry, machine)
    return found.version !== entry.version || found.integrity !== entry.integrity
  }
  return Object.entries(lock.packages)
    .filter(([path]) => path !== '')
    .filter(isMissing)
    .map(([path]) => path)
}

// An optional package without a platform belongs to another optional one, which may not fit this platform.
const isNeeded = (entry, machine) =>
  suits(entry, machine) && (!entry.optional || entry.os !== undefined || entry.cpu !== undefined)

const suits = (entry, { platform, arch, libc }) =>
  allows(entry.os, platform) && allows(entry.cpu, arch) && (libc === undefined || allows(entry.libc, libc))

function allows(list, value) {
  if (list === undefined) return true
  if (list.includes(`!${value}`)) return false
  return list.includes(value) || list.every((word) => word.startsWith('!'))
}

function cLibrary() {
  if (process.platform !== 'linux') return undefined
  // Network interfaces make a report slow.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
}
