import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure, fail } from './bootstrap/failure.mjs'
import { filesBelow } from './bootstrap/fingerprint.mjs'
import { npmCommand } from './bootstrap/run-npm.mjs'

/**
 * The software bill of materials in CycloneDX: packages that an installation has, and those whose code the build has bundled into the
 * console. The same lock file gives the same bytes.
 *
 *   node scripts/make-sbom.mjs > millrace.cdx.json
 */
export function makeSbom(root) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const bundled = bundledPackages(root, lock)
  const sbom = readNpmSbom(root)
  const refOf = (path) =>
    `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${lock[path].version}`
  const installed = new Set(
    pathsIn(lock)
      .filter((path) => lock[path].dev !== true)
      .map(refOf),
  )
  const inConsole = new Set([...bundled].map(refOf))
  const isShipped = (ref) => installed.has(ref) || inConsole.has(ref)

  sbom.components = sbom.components
    .filter((component) => isShipped(component['bom-ref']))
    .map((component) => markOrigin(component, { bundled: !installed.has(component['bom-ref']) }))
  const own = sbom.metadata.component['bom-ref']
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => ref === own || isShipped(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isShipped) }))
  // npm takes the name of the folder, the time and a random number.
  Object.assign(sbom.metadata.component, { name, type: 'application' })
  delete sbom.metadata.timestamp
  delete sbom.serialNumber
  const { $schema, bomFormat, specVersion, ...rest } = sbom
  return { $schema, bomFormat, specVersion, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(rest))}`, ...rest }
}

function readNpmSbom(root) {
  const { command, prefix } = npmCommand(process.env, process.execPath)
  const args = [...prefix, 'sbom', '--package-lock-only', '--sbom-format', 'cyclonedx']
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0)
    throw new Failure(`npm sbom failed.\n${stderr ?? ''}`, 'npm 10.2 or newer has it: npm install -g npm')
  return JSON.parse(stdout)
}

/** What a bundle contains is no dependency of the package, so npm calls it a development package. */
function markOrigin(component, { bundled }) {
  const properties = component.properties.filter(({ name }) => name !== 'cdx:npm:package:development')
  return {
    ...component,
    scope: bundled ? 'required' : component.scope,
    properties: bundled ? [...properties, { name: 'cdx:npm:package:bundled', value: 'true' }] : properties,
  }
}

const pathsIn = (lock) => Object.keys(lock).filter((path) => path !== '')

/** Packages that the console's modules import, and what those depend on: the bundle contains these or fewer. */
export function bundledPackages(root, lock) {
  const modules = filesBelow(join(root, 'console')).filter(
    (path) => /(?<!\.test)\.tsx?$/.test(path) && !/\.config\.ts$/.test(path),
  )
  const found = new Set()
  const add = (from, name) => {
    const path = resolveIn(lock, from, name)
    if (path === undefined || found.has(path)) return
    found.add(path)
    const { dependencies = {}, peerDependencies = {} } = lock[path]
    for (const each of Object.keys({ ...dependencies, ...peerDependencies }))
      if (!/^@types\//.test(each)) add(path, each)
  }
  for (const module of modules) {
    // Templates hold code that is shown to people.
    const code = readFileSync(join(root, 'console', module), 'utf8').replace(/`[^`]*`/g, '``')
    for (const [, name] of code.matchAll(/(?:from|import)\s*\(?\s*'((?:@[^/']+\/)?[^./'@][^/']*)[^']*'/g)) add('', name)
  }
  // Its base styles are part of the style sheet.
  add('', 'tailwindcss')
  return found
}

/** As Node looks for a package: in the nearest `node_modules` first. */
function resolveIn(lock, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (path in lock) return path
    if (folder === '' || !folder.includes('/node_modules/'))
      return folder === '' ? undefined : resolveIn(lock, '', name)
  }
}

function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

const script = fileURLToPath(import.meta.url)
if (resolve(process.argv[1] ?? '') === script) {
  try {
    process.stdout.write(`${JSON.stringify(makeSbom(resolve(script, '../..')), null, 2)}\n`)
  } catch (error) {
    fail(error)
  }
}
