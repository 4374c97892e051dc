import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { fail } from './bootstrap/failure.mjs'
import { filesOf } from './bootstrap/fingerprint.mjs'
import { runNpm } from './bootstrap/run-npm.mjs'
import { bootstrap, ROOT } from './bootstrap.mjs'
import { makeSbom } from './make-sbom.mjs'
import { writeChecksums } from './release/checksums.mjs'

// node scripts/pack.mjs [--out release]: what a release consists of. The tarball carries the versions of its dependencies, and two packs
// of one commit with one version of Node and npm are equal byte for byte.
const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'release') } } })

const ALWAYS_PACKED = ['README.md', 'LICENSE']
/** Compares sources with the build; an installation has no sources. */
const isStamp = (path) => /^dist\/\.millrace-[a-z-]*stamp$/.test(path)

await pack(resolve(values.out)).catch(fail)

async function pack(out) {
  const print = (line) => process.stderr.write(`${line}\n`)
  await bootstrap({ print })
  const manifest = readJson('package.json')
  const staged = join(ROOT, '.cache', 'pack')
  rmSync(staged, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  stage(staged, manifest)
  await runNpm(['pack', '--ignore-scripts', '--pack-destination', out], { root: staged, print })
  rmSync(staged, { recursive: true })

  const base = `${manifest.name}-${manifest.version}`
  writeFileSync(join(out, `${base}.cdx.json`), `${JSON.stringify(makeSbom(ROOT), null, 2)}\n`)
  process.stdout.write(writeChecksums(out, [`${base}.cdx.json`, `${base}.tgz`]))
}

/** A copy with the same modes on every machine, whatever the umask of the clone was. */
function stage(folder, { devDependencies, scripts, allowScripts, ...manifest }) {
  const packed = filesOf(ROOT, [...manifest.files, ...ALWAYS_PACKED])
  const programs = new Set(Object.values(manifest.bin))
  for (const path of packed.filter((each) => !isStamp(each))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(ROOT, path), join(folder, path))
    chmodSync(join(folder, path), programs.has(path) ? 0o755 : 0o644)
  }
  const files = [...manifest.files, 'npm-shrinkwrap.json']
  writeJson(join(folder, 'package.json'), { ...manifest, files })
  writeJson(join(folder, 'npm-shrinkwrap.json'), shrinkwrapOf(readJson('package-lock.json'), { ...manifest, files }))
}

/** The lock of what is installed. npm takes the versions and digests of a package's dependencies from a file of this name. */
function shrinkwrapOf(
  { packages, ...lock },
  { name, version, license, engines, bin, dependencies, optionalDependencies },
) {
  const own = { name, version, license, dependencies, bin, engines, optionalDependencies }
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true)
  return { ...lock, packages: { '': own, ...Object.fromEntries(installed) } }
}

function readJson(name) {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8'))
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
  // The umask takes bits from a mode that is given to `writeFileSync`.
  chmodSync(path, 0o644)
}
